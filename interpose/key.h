/* The real pthread_key_create(), for the agent: what ends a thread's state is the destructor of a key. */
#ifndef FXT_KEY_H
#define FXT_KEY_H

int fxt_key_create(unsigned *key, void (*destructor)(void *));

#endif
