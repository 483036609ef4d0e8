struct queue {
	unsigned long flags;
	char name[56];
	unsigned long produced;
	unsigned long consumed;
};
