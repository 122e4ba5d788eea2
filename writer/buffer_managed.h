/* What buffer_managed_create.c needs of buffer_managed.c. */
#ifndef FXT_BUFFER_MANAGED_H
#define FXT_BUFFER_MANAGED_H

#include "buffer.h"

/* These are the functions of the storage. */
extern const struct fxt_storage_ops fxt_managed_ops __attribute__((visibility("hidden")));

#endif
