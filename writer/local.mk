# The FXT format and the buffer are built twice: with the agent's flags into libfxtagent.so (agent/local.mk),
# and here for the tool and the unit tests.

WRITER_SOURCES = \
	writer/apart.c \
	writer/apart.h \
	writer/buffer.c \
	writer/buffer.h \
	writer/buffer_create.c \
	writer/buffer_cut.c \
	writer/buffer_grow.c \
	writer/buffer_leave.c \
	writer/buffer_managed.c \
	writer/buffer_managed.h \
	writer/buffer_managed_create.c \
	writer/buffer_talk.c \
	writer/buffer_memory.c \
	writer/buffer_file.c \
	writer/buffer_fork.c \
	writer/buffer_retract.c \
	writer/buffer_rewrite.c \
	writer/categories.def \
	writer/checking.h \
	writer/decimal.h \
	writer/encode_atoms.c \
	writer/encode_internal.h \
	writer/forbidden.h \
	writer/fxt_encode.c \
	writer/fxt_encode.h \
	writer/fxt_format.h \
	writer/fxt_utf8.c \
	writer/lane.h \
	writer/lock.h \
	writer/place.c \
	writer/place.h \
	writer/provider.h \
	writer/run/process_stat.h \
	writer/record_file.c \
	writer/record_file.h \
	writer/ring.c \
	writer/ring.h \
	writer/run/run_memory.h \
	writer/snapshot.c \
	writer/storage.h \
	writer/sys.c \
	writer/sys.h

noinst_LTLIBRARIES += libfxtwriter.la
libfxtwriter_la_SOURCES = $(WRITER_SOURCES)
