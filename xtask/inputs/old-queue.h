struct queue {
	char name[56];
	unsigned long produced;
	unsigned long consumed;
};
