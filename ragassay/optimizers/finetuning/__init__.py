"""Fine-tuning of small models: data as chats, packed rows, SFT and CPO by TRL."""
