struct pair {
    long left;
    long right;
};

#ifdef __cplusplus
extern "C" {
#endif
void count_left(struct pair *pair);
void count_right(struct pair *pair);
#ifdef __cplusplus
}
#endif
