/* Sorts any number of items in bounded memory.
 *
 * Items are collected in a buffer. When that is full it is sorted and written behind what is in a file
 * without a name; afterwards the sorted parts of the file are merged. A trace whose items fit into the
 * buffer needs no file. The file lies beside the output, because there has to be as much room again as that
 * takes.
 *
 *     while (...)
 *             fxt_sorter_add(&s, &key, bytes, count);
 *     if (fxt_sorter_turn(&s))
 *             while (fxt_sorter_next(&s, &item))
 *                     ...
 *     fxt_sorter_free(&s);
 */
#ifndef FXT_TOOLS_SORTER_H
#define FXT_TOOLS_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is by time, then by stream, then by `tie`. */
struct fxt_sorter_key {
	uint64_t time, tie;
	uint32_t stream;
	uint32_t bytes; /* of the item */
};

struct fxt_sorter_item {
	struct fxt_sorter_key key;
	const unsigned char *data; /* until the next item is asked for */
};

struct fxt_sorter_part; /* a sorted part of the file, in sorter.c */
struct fxt_sorter_place; /* an item of the buffer, there too */

/* All members but `directory` are zero at first. */
struct fxt_sorter {
	const char *directory; /* where its file is */
	unsigned char *buffer;
	size_t used, capacity;
	struct fxt_sorter_place *places;
	size_t count, place_capacity;
	size_t next; /* place of the next item, if there is no file */
	int fd; /* of the file, if there are parts */
	uint64_t file_bytes;
	struct fxt_sorter_part *parts;
	size_t part_count, part_capacity;
	size_t *heap, heap_count;
	bool is_taken; /* the first part of the heap has given its item */
	int error; /* the errno of the file; nothing more is added then */
};

void fxt_sorter_add(struct fxt_sorter *s, const struct fxt_sorter_key *key, const void *data);

/* Ends the adding. Returns false if something could not be written; s->error says why. */
bool fxt_sorter_turn(struct fxt_sorter *s);

/* Sets the next item. Returns false after the last, and if the file cannot be read (s->error). */
bool fxt_sorter_next(struct fxt_sorter *s, struct fxt_sorter_item *item);

void fxt_sorter_free(struct fxt_sorter *s);

#endif
