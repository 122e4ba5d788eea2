/* This is what a provider (a traced program) and a manager (fxt serve) share: the packets that they send each
 * other, and the memory that the provider writes its records to and the manager saves them from.
 * docs/manager.md says how the two work together.
 *
 * They are connected by a Unix socket of type SOCK_SEQPACKET. Every message on it begins with a packet of 16
 * bytes. Those of Fuchsia's "FIFO packets" consist of nothing else; their numbers are those of
 * Fuchsia's <lib/trace-provider/provider.h>. The others (FXT_PROVIDER_REGISTER and later) stand for calls of
 * Fuchsia's interfaces fuchsia.tracing.provider.Registry and Provider. Some of these have a text behind the
 * packet, to the end of the message and without a NUL.
 *
 *      provider                                        manager
 *      connects; REGISTER (name)           ------->
 *                                          <-------    REGISTERED, with the pages of gates
 *                                          <-------    INITIALIZE (mode, bytes, categories)
 *      INITIALIZED, with the memory        ------->    maps the memory
 *                                          <-------    START
 *      STARTED (version)                   ------->
 *      SAVE_BUFFER (wrap count, durable)   ------->    saves that half of the memory       streaming alone
 *                                          <-------    BUFFER_SAVED (the same values)
 *      ALERT (name)                        ------->
 *                                          <-------    STOP
 *      STOPPED                             ------->    saves what it wants; START may follow
 *      ENDING                              ------->    saves all
 *                                          <-------    ALL_SAVED
 *                                          <-------    TERMINATE: the session is over; INITIALIZE may follow
 *
 * The child that a provider forks is a provider of its own. It knows what its parent has been told, so it
 * waits for nothing:
 *
 *      connects; FORKED, with its memory   ------->    saves it, as that of a provider that has STARTED
 *
 * The end of the provider's process ends all this. The end of the connection does so too, unless the header
 * says that the provider outlives it. The manager is gone when the word at the beginning of its page says so
 * (FXT_MANAGER_PAGE), or when the connection ends and there is no such page.
 *
 * A provider that nobody wants to record now reads no message, because it records nothing. So there is a page
 * for each provider in memory that the manager owns, "the pages of gates". The provider may only read it. Its
 * first 32-bit word is 0 while the provider has to do nothing, and has all bits set when there are messages
 * for it. A forked child has the page of its parent; it is open while there are messages for one of them. A
 * manager that sends INITIALIZE at once need not send REGISTERED, but cannot start such a provider
 * again after it has stopped it.
 *
 * The memory is a memfd that is sealed against shrinking and growing, so that no access to it can fail. It
 * takes up only what was written to, and the manager may free parts of it that have no records any more:
 *
 *      [ header, 1 page | table | table of takings | durable area | rolling buffer 0 | rolling buffer 1 ]
 *
 * The durable area is that of the trace file (buffer.h). The two rolling buffers consist of chunks. The
 * table has one state for each chunk. A chunk passes from one side to the other by its state alone:
 *
 *      FXT_MANAGED_FREE      provider takes it, in a new turn -> FXT_MANAGED_TAKEN
 *      FXT_MANAGED_TAKEN     provider empties it         -> FXT_MANAGED_HELD
 *      FXT_MANAGED_HELD      provider fills it           -> FXT_MANAGED_FULL
 *      FXT_MANAGED_FULL      streaming: manager saves it -> FXT_MANAGED_FREE
 *                           oneshot, when it is saved or cleared at a stop: the same
 *                           circular: provider takes it, in a new turn -> FXT_MANAGED_OLDEST
 *                           circular: manager saves or clears it -> FXT_MANAGED_SAVED
 *      FXT_MANAGED_OLDEST    provider counts what the chunk has and empties it, by one store
 *                           (buffer_retract.c) -> FXT_MANAGED_HELD
 *      FXT_MANAGED_SAVED     provider takes it, in a new turn, and no record is lost -> FXT_MANAGED_TAKEN
 *      FXT_MANAGED_PAGES     for good: pages of words that are rewritten in place, such as calls in progress
 *      FXT_MANAGED_FREE      streaming: manager frees its memory -> FXT_MANAGED_FREEING -> FXT_MANAGED_EMPTY
 *      FXT_MANAGED_EMPTY     as FXT_MANAGED_FREE; the first store to each of its pages takes longer
 *
 * A provider that leaves a manager which is gone hands nothing out any more: a chunk that is full becomes
 * FXT_MANAGED_LEFT and keeps its records, and so does the oldest one that a thread has just taken. One that
 * is free, saved or taken becomes FXT_MANAGED_FREEING.
 *
 * Nothing in the memory needs to be believed: the manager copies what it saves before it looks at it.
 */
#ifndef FXT_PROVIDER_H
#define FXT_PROVIDER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A packet, all numbers in the byte order of the machine. What a request does not use is 0. */
struct fxt_packet {
	uint16_t request;               /* enum fxt_manager_request */
	uint16_t reserved;              /* 0, but in FXT_PROVIDER_ALERT, where it is a part of the name */
	uint32_t data32;
	uint64_t data64;
};

static_assert(sizeof(struct fxt_packet) == 16, "a packet has 16 bytes");

enum { FXT_PROVIDER_VERSION = 1 };      /* TRACE_PROVIDER_FIFO_PROTOCOL_VERSION */

enum fxt_manager_request {
	/* From the provider. TRACE_PROVIDER_STARTED: it records now. data32: FXT_PROVIDER_VERSION. */
	FXT_PROVIDER_STARTED = 0x1,
	/* TRACE_PROVIDER_SAVE_BUFFER: a rolling buffer is full. data32: the wrap count, which is how often
	 * writing had turned from one buffer to the other before; the buffer is data32 & 1. The counts of a
	 * memory begin with 0 and follow each other; the first of a new session may be one that was asked for
	 * before. data64: how many bytes of the durable area had been written then. The next request of this
	 * kind is not sent before the answer to this one has come. */
	FXT_PROVIDER_SAVE_BUFFER = 0x2,
	/* TRACE_PROVIDER_STOPPED: it records nothing any more, until the next FXT_MANAGER_START. */
	FXT_PROVIDER_STOPPED = 0x3,
	/* TRACE_PROVIDER_ALERT: reserved, data32 and data64 are the 14 bytes of the alert's name, filled up
	 * with NUL. It is left out where the manager has not read many others. */
	FXT_PROVIDER_ALERT = 0x4,
	/* Registry.RegisterProvider. data32: FXT_PROVIDER_VERSION; data64: the process's id in the trace.
	 * Text: the program's name, of at most FXT_PROVIDER_NAME_BYTES. */
	FXT_PROVIDER_REGISTER = 0x200,
	/* The answer to FXT_MANAGER_INITIALIZE. data32: the provider's page of gates; data64: the bytes of
	 * the memory, and above FXT_SESSION_SHIFT the session's number as INITIALIZE has it. A provider that
	 * leaves that 0 answers each INITIALIZE that it gets, in order. The memory's descriptor comes along
	 * the first time; a later session uses the same memory.
	 * This may come over another connection, which has no other use, and whose process may be a helper of
	 * the provider's. Then the text has FXT_PROVIDER_PROOF_BYTES: the text of FXT_MANAGER_REGISTERED,
	 * which nobody else but forked children was told, and the process's id in the trace in 32 bits. */
	FXT_PROVIDER_INITIALIZED = 0x201,
	/* The process ends normally, and waits for FXT_MANAGER_ALL_SAVED, or for the end of the connection.
	 * Only a process that waits when it finds no room sends this. */
	FXT_PROVIDER_ENDING = 0x202,
	/* The process forbids itself system calls, so from here on it may send and hear nothing. The
	 * manager looks by itself, many times a second, for chunks that are full, and saves them without
	 * an answer. */
	FXT_PROVIDER_MUTED = 0x203,
	/* The process was forked by a provider, and is in what the header of its memory calls its session.
	 * data32: FXT_PROVIDER_VERSION; data64: the process's id in the trace in the lower half, and above
	 * that the page of gates that its parent has. The descriptor of the memory comes along, and the
	 * process records already; without one it waits. Text: as of FXT_PROVIDER_REGISTER. */
	FXT_PROVIDER_FORKED = 0x204,
	/* The first message of a connection that came by the abstract name of fxt record's socket. Text:
	 * the secret of FXT_RUN, of FXT_RUN_SECRET_BYTES, and then a line of text if data32 is
	 * FXT_KEY_SAYS. data32: enum fxt_key_wish. */
	FXT_PROVIDER_KEY = 0x205,

	/* From the manager. TRACE_PROVIDER_BUFFER_SAVED, with the values of the request. */
	FXT_MANAGER_BUFFER_SAVED = 0x100,
	/* Provider.Initialize. data32: enum fxt_buffering_mode, and FXT_BUFFERING_WAITS if the process shall
	 * wait when it finds no room; data64: about how many bytes the memory shall have (0: as the provider
	 * likes; too many: as many as it can), and above FXT_SESSION_SHIFT the session's number. Text: the
	 * categories, as in FXT_CATEGORIES, of which the provider need not know all; empty: the provider's
	 * own choice. */
	FXT_MANAGER_INITIALIZE = 0x210,
	/* Provider.Start, which may come right behind INITIALIZE or at any time after it.
	 * data32: enum fxt_buffer_disposition. data64: 1 if the manager has saved what was
	 * recorded in this session before, so that its trace has it; otherwise 0. Text: the categories
	 * that are added to those of INITIALIZE, and behind FXT_START_LEAVES_OUT those that are left out. */
	FXT_MANAGER_START = 0x211,
	/* Provider.Stop. It comes without START where the session was stopped before INITIALIZED came. */
	FXT_MANAGER_STOP = 0x212,
	FXT_MANAGER_TERMINATE = 0x213,          /* Provider.Terminate: the session is over */
	/* The answer to FXT_PROVIDER_REGISTER. data32: the number of the provider's page of gates; data64:
	 * FXT_INITIALIZE_FOLLOWS and FXT_START_FOLLOWS, or 0. The descriptor of these pages comes along.
	 * Text: a word of FXT_PROVIDER_TOKEN_BYTES bytes by which the manager knows the provider again. */
	FXT_MANAGER_REGISTERED = 0x214,
	/* A streaming provider has recorded as much as it may: the rolling buffer that it has asked to be
	 * saved will not be saved before the next START. What finds no room is dropped and counted. data64:
	 * how many bytes it may record. */
	FXT_MANAGER_FULL = 0x215,
	/* The answer to FXT_PROVIDER_ENDING: what the process had recorded before is in the archive. */
	FXT_MANAGER_ALL_SAVED = 0x216,
	/* The answer to FXT_PROVIDER_KEY with FXT_KEY_SHARED. The descriptor of the memory comes along
	 * that the processes of a run share. */
	FXT_MANAGER_SHARED = 0x217,
};

/* What is to follow FXT_PROVIDER_KEY: REGISTER or the like; FXT_MANAGER_SHARED; or nothing, because there
 * was a line of text that the manager prints. */
enum fxt_key_wish { FXT_KEY_JOINS, FXT_KEY_SHARED, FXT_KEY_SAYS };

enum { FXT_RUN_NAME_BYTES = 16, FXT_RUN_SECRET_BYTES = 32 };

enum { FXT_ALERT_NAME_BYTES = 14, FXT_PROVIDER_NAME_BYTES = 100, FXT_PROVIDER_MESSAGE_BYTES = 4096,
       FXT_PROVIDER_TOKEN_BYTES = 16, FXT_PROVIDER_PROOF_BYTES = 20 };

/* trace_buffering_mode_t */
enum fxt_buffering_mode { FXT_BUFFERING_ONESHOT, FXT_BUFFERING_CIRCULAR, FXT_BUFFERING_STREAMING };

/* What REGISTERED announces: INITIALIZE comes at once; and START comes as soon as the provider has answered
 * that. A provider that has waited for a second for what was announced goes on without the manager. */
enum { FXT_INITIALIZE_FOLLOWS = 1, FXT_START_FOLLOWS = 2 };

/* Added to the streaming mode: a thread that finds no room waits until the manager has saved a rolling
 * buffer. */
enum { FXT_BUFFERING_WAITS = 0x100 };

/* Where the number of a session stands in data64 of INITIALIZE and INITIALIZED. It tells a late answer to
 * INITIALIZE from that to another one. */
enum { FXT_SESSION_SHIFT = 48 };
#define FXT_SESSION_BYTES_MASK ((UINT64_C(1) << FXT_SESSION_SHIFT) - 1)

/* In front of the categories that START leaves out. No name of a category has a blank. */
#define FXT_START_LEAVES_OUT " -"

/* fuchsia.tracing.BufferDisposition: what becomes of the records of earlier starts. */
enum fxt_buffer_disposition { FXT_CLEAR_ENTIRE = 1, FXT_CLEAR_NONDURABLE, FXT_RETAIN };

#define FXT_MANAGED_MAGIC UINT64_C(0x627566ee68656164)   /* TRACE_BUFFER_HEADER_MAGIC */

enum { FXT_MANAGED_VERSION = 0, FXT_MANAGED_HEADER_BYTES = 4096, FXT_MANAGED_PATH_BYTES = 3072 };

typedef _Atomic uint64_t fxt_taken_entry;        /* struct fxt_taken, in one word */

/* The header of the memory. The first 128 bytes are the trace engine's trace_buffer_header; sizes and offsets
 * are in bytes. The provider writes all of it. */
struct fxt_managed_header {
	uint64_t magic;                 /* FXT_MANAGED_MAGIC */
	uint16_t version;               /* FXT_MANAGED_VERSION */
	uint8_t buffering_mode;         /* enum fxt_buffering_mode */
	uint8_t reserved1;
	_Atomic uint32_t wrapped_count; /* how often writing has turned to the other rolling buffer */
	uint64_t total_size;            /* of the memory */
	uint64_t durable_buffer_size;
	uint64_t rolling_buffer_size;   /* of each of the two */
	/* How far the durable area has been written. It is always up to date here, and stored behind the
	 * records: who has read that a chunk is full, and then this, has the strings that the chunk needs. */
	_Atomic uint64_t durable_data_end;
	uint64_t rolling_data_end[2];   /* 0: the table says what the rolling buffers have */
	_Atomic uint64_t num_records_dropped;
	uint64_t reserved[7];

	/* These members are our own. */
	uint64_t table_offset;
	uint64_t durable_offset;
	uint64_t rolling_offset;        /* of rolling buffer 0; the other one follows it */
	uint32_t chunk_bytes;
	uint32_t chunk_count;           /* an even number: half of them are in each rolling buffer */
	/* A part of the durable area that is rewritten in place, the counts of losses. It is saved last. */
	uint64_t counters_offset;       /* within the durable area */
	uint64_t counters_size;

	/* The session that a forked process was born into, as FXT_MANAGER_INITIALIZE numbers it. */
	uint32_t session;
	/* 1: the end of the connection is not the end of the provider, which may have lost it and record on;
	 * the end of its process is. */
	_Atomic uint32_t outlives_connection;
	/* How many chunks the provider may use: of each rolling buffer in streaming mode, and twice as many
	 * from the first on in the other modes. The manager stores it; 0: all. A streaming provider stores
	 * beside it how many it would use, once it has found that too few. */
	_Atomic uint32_t granted_chunks;
	_Atomic uint32_t wanted_chunks;
	/* The manager adds one after it has given chunks back, and then wakes the threads that sleep on this
	 * word (FUTEX_WAIT), if the provider says that there are any. */
	_Atomic uint32_t saves;
	_Atomic uint32_t sleepers;
	/* How far the provider has left a manager that is gone: enum fxt_managed_leaving. */
	_Atomic uint32_t leaving;
	/* Where the table of what the manager has taken of each chunk is (0: there is none). Whoever comes
	 * after a manager that was killed reads it. The manager counts its passes over the memory: what it
	 * took in a pass up to this one is in the archive. */
	uint64_t taken_offset;
	_Atomic uint32_t saved_pass;
	/* The provider's own file, from FXT_MOVES on: its path, which is empty if it is too long, and what
	 * fstat() says of it. */
	uint64_t file_device, file_inode;
	char file_path[FXT_MANAGED_PATH_BYTES];
	/* In a ring: what the provider has overwritten of chunks that the manager has taken in a pass that it
	 * has not counted yet. The number of the pass is in the upper half, that of the events in the lower
	 * one. If the manager is killed before it counts the pass, nobody has saved them, and they count as
	 * overwritten: the last count of counters_offset is theirs, and is shown already. */
	fxt_taken_entry overwritten_in_pass;
};

/* So many chunks of each rolling buffer a streaming provider is granted at first, and so many where there is
 * nothing left. One that waits for room uses no more until the manager has seen its memory. */
enum { FXT_MANAGED_FIRST_CHUNKS = 4, FXT_MANAGED_LEAST_CHUNKS = 2 };

/* The first page of the pages of gates is the manager's. It begins with the word of a robust futex that the
 * manager holds: when the manager's process is gone, the kernel sets this bit there; when it has ended in
 * peace, the word is 0. Where it is 0 as a provider connects, the manager holds none, and the end of the
 * connection is its end. */
enum { FXT_MANAGER_PAGE = 0, FXT_MANAGER_DIED = 0x40000000 };

/* Where that page has, in 64 bits, by what CLOCK_REALTIME is ahead of the CLOCK_BOOTTIME of the host: for
 * providers in a time namespace that cannot read how far theirs is ahead. */
enum { FXT_MANAGER_REAL = 128 };

static_assert(sizeof(struct fxt_managed_header) <= FXT_MANAGED_HEADER_BYTES, "the header fits");

/* The state of a chunk is in the low byte of its entry of the table. Above that is its turn, which the
 * provider raises before it empties the chunk: who has copied a chunk and finds another turn then has copied
 * nothing of use. Until the chunk is empty it has the records of its last turn, so there are two states in
 * which the manager takes nothing of it while the provider lives. What it finds in a chunk that is
 * FXT_MANAGED_OLDEST when the provider is over counts: records of the turn before, or the count of them. */
enum fxt_managed_state {
	FXT_MANAGED_FREE,
	FXT_MANAGED_HELD,
	FXT_MANAGED_FULL,
	FXT_MANAGED_PAGES,
	FXT_MANAGED_TAKEN,
	FXT_MANAGED_SAVED,
	FXT_MANAGED_FREEING,
	FXT_MANAGED_EMPTY,
	FXT_MANAGED_LEFT,
	FXT_MANAGED_OLDEST,
};

typedef _Atomic uint32_t fxt_managed_entry;

/* FXT_STAYS: all that counts is in the memory. FXT_MOVES: the provider's own file has a name, and what is not
 * in it is in the memory (buffer_managed.h). FXT_HAS_LEFT: the file has everything, or what is not in it is
 * somebody else's: whoever saves the memory of a provider that is over stores this, so that a helper of the
 * provider's that still lives does not begin to move. A provider that goes on without a manager that did not
 * start it in time stores it, too: nothing that counts was ever in that memory. */
enum fxt_managed_leaving { FXT_STAYS, FXT_MOVES, FXT_HAS_LEFT };

/* What the manager has taken of a chunk in a turn, in one word: so many words, with so many events of the
 * program's; the last of them in this pass, and those `before` in earlier ones. In a ring the provider puts
 * the new turn into it before it empties the chunk, and counts as overwritten what was not taken. So the
 * manager changes the word after it has copied the records, and takes them only if the turn is the same. The
 * rest of the word is still that of the turn before then, until the chunk is empty (FXT_MANAGED_OLDEST).
 *
 * Of turn and pass the word has the lower bits: the turn is at most one behind that of the chunk. */
struct fxt_taken {
	uint32_t turn, words, before, events, pass;
};

enum {
	FXT_TAKEN_TURN_MASK = 0xfff,
	FXT_TAKEN_WORDS_MASK = 0x1fff,
	FXT_TAKEN_EVENTS_MOST = 0x7ff,
	FXT_TAKEN_PASS_MASK = 0x7fff,
};

static inline uint64_t fxt_taken_pack(struct fxt_taken t)
{
	uint32_t events = t.events < FXT_TAKEN_EVENTS_MOST ? t.events : FXT_TAKEN_EVENTS_MOST;

	return (uint64_t)(t.turn & FXT_TAKEN_TURN_MASK) << 52 | (uint64_t)t.words << 39 |
	       (uint64_t)t.before << 26 | (uint64_t)events << 15 | (t.pass & FXT_TAKEN_PASS_MASK);
}

static inline struct fxt_taken fxt_taken_unpack(uint64_t word)
{
	return (struct fxt_taken){
		.turn = (uint32_t)(word >> 52),
		.words = word >> 39 & FXT_TAKEN_WORDS_MASK,
		.before = word >> 26 & FXT_TAKEN_WORDS_MASK,
		.events = word >> 15 & FXT_TAKEN_EVENTS_MOST,
		.pass = word & FXT_TAKEN_PASS_MASK,
	};
}

/* Returns how many words of a chunk that is in this turn are in the archive, if the manager is gone. */
static inline uint32_t fxt_taken_words(uint64_t word, uint32_t turn, uint32_t saved_pass)
{
	struct fxt_taken t = fxt_taken_unpack(word);

	if (t.turn != (turn & FXT_TAKEN_TURN_MASK))
		return 0;
	return t.pass == ((saved_pass + 1) & FXT_TAKEN_PASS_MASK) ? t.before : t.words;
}

/* Returns how many events of such a chunk are known to be in the archive. Of one that the manager was saving
 * when it was killed that is none. */
static inline uint32_t fxt_taken_events(uint64_t word, uint32_t turn, uint32_t saved_pass)
{
	struct fxt_taken t = fxt_taken_unpack(word);

	if (t.turn != (turn & FXT_TAKEN_TURN_MASK) || t.pass == ((saved_pass + 1) & FXT_TAKEN_PASS_MASK))
		return 0;
	return t.events;
}

/* Returns how many events `overwritten_in_pass` of the header has that are in no archive, if the manager is
 * gone: those of the pass behind the last one that it has counted. */
static inline uint32_t fxt_overwritten_in_pass(uint64_t word, uint32_t saved_pass)
{
	return (uint32_t)(word >> 32) == saved_pass + 1 ? (uint32_t)word : 0;
}

static inline enum fxt_managed_state fxt_managed_state_of(uint32_t entry)
{
	return (enum fxt_managed_state)(entry & 0xff);
}

/* Returns the turn of the records that a chunk has, as fxt_taken_words() wants it. */
static inline uint32_t fxt_managed_turn(uint32_t entry, uint64_t taken)
{
	return fxt_managed_state_of(entry) == FXT_MANAGED_OLDEST ? fxt_taken_unpack(taken).turn : entry >> 8;
}

/* Returns whether a chunk in this state has records to which none are added. */
static inline bool fxt_managed_is_full(enum fxt_managed_state state)
{
	return state == FXT_MANAGED_FULL || state == FXT_MANAGED_LEFT;
}

#endif
