/* What all forms of export share. See export.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "export.h"

void fxt_export_progress(const struct fxt_export *export, uint64_t done, uint64_t all)
{
	if (!export->is_quiet)
		fprintf(stderr, "\rfxt: %3u%% ", (unsigned)((double)done * 100 / (double)all));
}
