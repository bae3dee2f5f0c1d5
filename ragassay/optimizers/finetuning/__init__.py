"""Fine-tune small models on chats and labeled pairs, with SFT and CPO from TRL."""
