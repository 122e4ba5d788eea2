/* The metadata of a CTF trace, as far as it is looked at before libbabeltrace2 reads it. */
#ifndef FXT_TOOLS_IMPORT_METADATA_H
#define FXT_TOOLS_IMPORT_METADATA_H

#include <stdbool.h>

/* A directory with a file `metadata`. Directories with one uuid are parts of one trace, as LTTng writes them
 * when a session is rotated; without one, a directory is a trace. */
struct fxt_import_directory {
	char *path;
	bool has_uuid;
	unsigned char uuid[16];
};

/* Sets the uuid, if the metadata is in packets. Returns false if it ends in the middle of one, or a size in
 * it cannot be right: libbabeltrace2 would read that for ever. */
bool fxt_import_metadata_look(struct fxt_import_directory *d);

#endif
