/* Compressed files: zstd frames that are complete by themselves, and a table of them at the end (the
 * seekable format of the zstd project). So a reader may begin at any frame, and zstd(1) reads the whole. fxt
 * may be built without zstd; then FXT_CAN_PACK is false, and the functions that pack do nothing of use. What
 * others have packed in gzip's format is unpacked as well.
 */
#ifndef FXT_TOOLS_PACK_H
#define FXT_TOOLS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef HAVE_ZSTD
enum { FXT_CAN_PACK = true };
#else
enum { FXT_CAN_PACK = false };
#endif

struct fxt_pack;

/* Returns what packs blocks of up to `most` bytes. fxt_pack_free() frees it. */
struct fxt_pack *fxt_pack_new(size_t most);
void fxt_pack_free(struct fxt_pack *p);

/* Makes a frame of a block. Returns the frame, which stays until the next call, and sets its size. */
const unsigned char *fxt_pack_frame(struct fxt_pack *p, const void *block, size_t bytes, size_t *packed);

/* Notes that the last frame is in the file. */
void fxt_pack_written(struct fxt_pack *p);

/* Returns the table of the frames that are in the file, which comes last there. It stays until
 * fxt_pack_free(). */
const unsigned char *fxt_pack_table(struct fxt_pack *p, size_t *bytes);

/* Packs what `from` reads, to its end, into `to`. Returns false with errno. */
bool fxt_pack_file(int from, int to);

/* Returns whether a file that begins with these bytes is compressed. */
bool fxt_is_packed(const unsigned char *data, size_t bytes);

/* Unpacks the file that `fd` reads, from its beginning, into a file without a name. A last frame that is cut
 * short is unpacked as far as it goes. Returns a descriptor of that file, or -1 after a message about
 * `path`. */
int fxt_unpack(int fd, const char *path);

#endif
