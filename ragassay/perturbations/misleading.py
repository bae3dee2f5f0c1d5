"""Make a rating that misleads a judge: attributed to experts, and the opposite of theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ragassay.errors import InputError

Inversion = Literal["extreme", "mirror"]
"""How a rating is turned over: to the opposite end of the scale, or to its mirror image."""


def mode_rating(ratings: Sequence[int]) -> int:
    """Return the rating that most raters gave.

    Where all differ the paper takes the highest; here that holds for every tie of modes. (Chaudhary
    et al., Towards Understanding the Robustness of LLM-based Evaluations under Perturbations,
    section 3.3.)

    Args:
        ratings: The raters' ratings of one answer on one metric; at least one.

    Raises:
        InputError: There is no rating.

    Example:
        >>> mode_rating([2, 2, 5]), mode_rating([1, 3, 4]), mode_rating([1, 1, 4, 4])
        (2, 4, 4)
    """
    if not ratings:
        raise InputError("No rating was given: the mode needs at least one rater.")
    counts = Counter(ratings)
    return max(counts, key=lambda rating: (counts[rating], rating))


def perturbed_rating(
    ratings: Sequence[int], low: int, high: int, inversion: Inversion = "extreme"
) -> int:
    """Turn the mode of people's ratings over, to mislead a judge.

    Equation 1 of Chaudhary et al. (section 3.3) is missing in the published text. What it says of
    it: the mode of the experts' ratings is determined, the highest rating where all three differ;
    the perturbed rating "is not simply the mode", it "inverts the rating scale based on the mode's
    value to emphasize edge cases"; it "inverts low and high ratings"; and it is made in the same
    way on every scale (0 to 1, 1 to 3 and 1 to 5). Both readings of this:

    - extreme: the opposite end of the scale, its top for a low mode and its bottom for a high one.
      A mode in the middle counts as low: 3 of 1 to 5 becomes 5. It never is the mode itself.
    - mirror: low + high - mode: 2 of 1 to 5 becomes 4, and 3 stays 3, which misleads nobody.

    They agree at the ends of a scale, and so on 0 to 1 always.

    Args:
        ratings: The raters' ratings of one answer on one metric, each from low to high.
        low: The scale's lowest rating.
        high: The scale's highest rating.
        inversion: Which of the readings.

    Returns:
        From low to high.

    Raises:
        InputError: There is no rating, one lies outside the scale, or the scale is empty.

    Example:
        >>> perturbed_rating([1, 2, 2], 1, 5), perturbed_rating([5, 4, 4], 1, 5)
        (5, 1)
        >>> perturbed_rating([1, 2, 2], 1, 5, "mirror"), perturbed_rating([3, 3, 4], 1, 5, "mirror")
        (4, 3)
        >>> perturbed_rating([3, 3, 4], 1, 5), perturbed_rating([0, 0, 1], 0, 1)
        (5, 1)
    """
    if low >= high:
        raise InputError(f"A scale needs a lowest rating below its highest, not {low} to {high}.")
    outside = [rating for rating in ratings if not low <= rating <= high]
    if outside:
        raise InputError(f"Rating {outside[0]} is outside the scale of {low} to {high}.")
    mode = mode_rating(ratings)
    if inversion == "mirror":
        return low + high - mode
    return high if 2 * mode <= low + high else low
