"""Fine-tune small models on chats and labelled pairs, with SFT and CPO from TRL."""
