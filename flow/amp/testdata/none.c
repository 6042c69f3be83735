/* A library, but not one of nodes. */
int answer(void);
int answer(void) { return 42; }
