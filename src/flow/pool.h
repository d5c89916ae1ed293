/*
 * Threads that all run one loop; inside flow alone.
 */
#ifndef BPK_FLOW_POOL_H
#define BPK_FLOW_POOL_H

/*
 * Call loop(arg) on the calling thread and on up to threads - 1 others, and return when all have
 * returned. If a thread cannot be started, the others do its work. They leave all signals to the
 * calling thread.
 */
void bpk_pool_run(unsigned threads, void (*loop)(void *arg), void *arg);

#endif
