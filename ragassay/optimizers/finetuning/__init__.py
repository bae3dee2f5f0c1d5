"""Fine-tuning of small models: data as chats, trees of them in a row, SFT and CPO by TRL."""
