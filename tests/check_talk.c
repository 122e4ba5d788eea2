/* This tests what a process and its manager say to each other (writer/buffer_talk.c). The kernel is played:
 * packets come and go in random order, are cut short, and meet errors; the connection is replaced by another
 * file; the manager dies; the process forbids itself to talk. All that the buffer knows afterwards, and all
 * that was sent, is compared with a model. FXT_SEED names the choices. */
#include <poll.h>
#include <sys/socket.h>

#include "managed_fixture.h"
#include "suite.h"
#include "syscalls_fixture.h"

enum { ROUNDS = 1000, STEPS = 200, MOST = 64, HEAR_NS = 1000 * 1000, MOST_POLLS = 8 };

/* What recvfrom() will return: a packet, or -errno or another size. */
struct arrival {
	long bytes;
	struct fxt_packet packet;
};

static struct arrival arrivals[MOST];
static unsigned arrival_count, arrivals_read;
static struct fxt_packet sent[MOST];
static unsigned sent_count;
static long send_results[MOST];         /* in the order in which packets are sent */
static unsigned sends;
static bool has_room;
static _Atomic uint32_t manager_word;
/* What arrives while the process waits for the manager, a batch for each poll. */
static struct arrival batches[MOST_POLLS][3];
static unsigned polls;

/* The model. */
static struct {
	int failure;
	uint64_t full_bytes, heard_ns, dropped;
	bool is_all_saved, is_deaf, has_other_file;
	unsigned saved_wraps, pass, read, leavers;
	struct fxt_packet sent[MOST];
	unsigned sent_count, sends, polls;
} model;

static void arrive(const struct arrival *arrival)
{
	ck_assert_uint_lt(arrival_count, MOST);
	arrivals[arrival_count++] = *arrival;
}

static void arrive_batch(unsigned poll)
{
	unsigned i;

	for (i = 0; poll < MOST_POLLS && i < 3; i++)
		if (batches[poll][i].bytes)
			arrive(&batches[poll][i]);
}

static bool answer(long number, const long *arguments, long *result)
{
	const struct pollfd *poll = (const struct pollfd *)arguments[0];
	const struct timespec *most = (const struct timespec *)arguments[2];

	switch (number) {
	case SYS_recvfrom:
		ck_assert_int_eq(arguments[0], buffer.fd);
		ck_assert_int_eq(arguments[2], sizeof(struct fxt_packet));
		ck_assert(arguments[3] & MSG_DONTWAIT);
		*result = -EAGAIN;
		if (arrivals_read == arrival_count)
			return true;
		*result = arrivals[arrivals_read].bytes;
		if (*result > 0)
			memcpy((void *)arguments[1], &arrivals[arrivals_read].packet, (size_t)*result);
		arrivals_read++;
		return true;
	case SYS_sendto:
		ck_assert_int_eq(arguments[0], buffer.fd);
		ck_assert_int_eq(arguments[2], sizeof(struct fxt_packet));
		ck_assert_int_eq(arguments[3], MSG_DONTWAIT | MSG_NOSIGNAL);
		ck_assert_uint_lt(sends, MOST);
		*result = send_results[sends++];
		if (*result == sizeof(struct fxt_packet))
			sent[sent_count++] = *(const struct fxt_packet *)arguments[1];
		return true;
	case SYS_ppoll:
		ck_assert_int_eq(poll->fd, buffer.fd);
		ck_assert_int_eq(arguments[1], 1);
		if (poll->events == POLLOUT) {
			/* Nobody waits for room. */
			ck_assert_int_eq(most->tv_sec, 0);
			ck_assert_int_eq(most->tv_nsec, 0);
			*result = has_room;
			return true;
		}
		ck_assert_int_eq(poll->events, POLLIN);
		ck_assert(most->tv_nsec > 0 && most->tv_sec == 0);
		ck_assert_uint_lt(polls, MOST_POLLS);
		arrive_batch(polls++);
		*result = 1;
		return true;
	default:
		return false;
	}
}

/* -- The model's side ------------------------------------------------------------------------------ */

static bool is_over(void)
{
	return model.failure == -EPIPE || model.failure == -ESHUTDOWN;
}

static void model_end(int error)
{
	if (buffer.managed && !buffer.is_kept && model.failure != -ESHUTDOWN)
		model.failure = error;
}

static bool is_dead(void)
{
	return !buffer.manager_word || !manager_word || manager_word & FXT_MANAGER_DIED;
}

static bool has_connection(void)
{
	if (!buffer.managed)
		return false;
	model.is_deaf |= model.has_other_file;
	if (model.is_deaf && is_dead())
		model_end(-EPIPE);
	return !model.is_deaf;
}

static bool may_talk(void)
{
	if (buffer.is_kept)
		return false;
	if (!fxt_is_forbidden(FXT_NO_TALK))
		return has_connection();
	if (buffer.manager_word && is_dead())
		model_end(-EPIPE);
	return false;
}

static void note_saved(uint32_t wraps)
{
	if (buffer.mode == FXT_STREAMING && wraps == model.saved_wraps && wraps != model.pass)
		model.saved_wraps++;
}

static void model_hear(void)
{
	while (!is_over() && may_talk()) {
		struct arrival *now = &arrivals[model.read];

		if (model.read == arrival_count || now->bytes == -EAGAIN) {
			model.read += model.read != arrival_count;
			if (buffer.manager_word && is_dead())
				model_end(-EPIPE);
			return;
		}
		model.read++;
		if (now->bytes == -EINTR)
			continue;
		if (now->bytes != sizeof(struct fxt_packet))
			model_end(-EPIPE);
		else if (now->packet.request == FXT_MANAGER_STOP ||
			 now->packet.request == FXT_MANAGER_TERMINATE)
			model_end(-ESHUTDOWN);
		else if (now->packet.request == FXT_MANAGER_BUFFER_SAVED)
			note_saved(now->packet.data32);
		else if (now->packet.request == FXT_MANAGER_FULL)
			model.full_bytes = now->packet.data64;
		else if (now->packet.request == FXT_MANAGER_ALL_SAVED)
			model.is_all_saved = true;
	}
}

static void model_say(struct fxt_packet packet)
{
	long result;

	do {
		if (!has_connection() || (packet.request == FXT_PROVIDER_ALERT && !has_room))
			return;
		result = send_results[model.sends++];
	} while (result == -EINTR);
	if (result == sizeof(packet))
		model.sent[model.sent_count++] = packet;
	else
		model_end(-EPIPE);
}

static bool may_tell(void)
{
	return !fxt_may_not_lock() && !fxt_is_forbidden(FXT_NO_TALK);
}

/* -- Steps ----------------------------------------------------------------------------------------- */

static struct arrival random_arrival(void)
{
	static const uint16_t requests[] = {FXT_MANAGER_BUFFER_SAVED, FXT_MANAGER_BUFFER_SAVED,
		FXT_MANAGER_FULL, FXT_MANAGER_ALL_SAVED, FXT_MANAGER_STOP, FXT_MANAGER_TERMINATE,
		FXT_MANAGER_START, FXT_PROVIDER_SAVE_BUFFER};
	static const long odd[] = {-EINTR, -EAGAIN, -ECONNRESET, 15, 8, 0};
	struct arrival arrival = {.bytes = sizeof(struct fxt_packet)};

	if (random_below(8) == 0)
		arrival.bytes = odd[random_below(6)];
	/* Most leave the session as it is. */
	arrival.packet.request = requests[random_below(random_below(6) ? 4 : 8)];
	arrival.packet.data32 = model.saved_wraps + (uint32_t)random_below(4) - 1;
	arrival.packet.data64 = random_number(60);
	return arrival;
}

static struct fxt_packet random_packet(void)
{
	return (struct fxt_packet){random_below(2) ? FXT_PROVIDER_ALERT : FXT_PROVIDER_STARTED,
				   (uint16_t)random_below(9), (uint32_t)random_below(99), random_number(60)};
}

static void hear(void)
{
	uint64_t now_ns = random_below(8) ? model.heard_ns + random_below(2 * HEAR_NS + 2) : UINT64_MAX;
	bool is_held = random_below(8) == 0;

	/* The boundary is drawn more often than chance would. */
	if (random_below(4) == 0)
		now_ns = model.heard_ns + HEAR_NS - random_below(2);
	if (now_ns < HEAR_NS)
		now_ns = HEAR_NS;
	atomic_store(&buffer.extend_lock.taken, is_held);
	fxt_buffer_hear(&buffer, now_ns);
	atomic_store(&buffer.extend_lock.taken, 0);
	if (!buffer.managed || now_ns - HEAR_NS < model.heard_ns || is_over() || fxt_may_not_lock() ||
	    is_held)
		return;
	if (now_ns != UINT64_MAX)
		model.heard_ns = now_ns;
	model_hear();
}

static void tell(void)
{
	struct fxt_packet packet = random_packet();

	fxt_buffer_tell(&buffer, packet);
	if (may_tell())
		model_say(packet);
}

static void mute(void)
{
	fxt_buffer_mute(&buffer);
	if (buffer.managed && may_tell())
		model_say((struct fxt_packet){FXT_PROVIDER_MUTED, 0, 0, 0});
}

static void hand_over(void)
{
	unsigned i, k;

	for (i = 0; i < MOST_POLLS; i++)
		for (k = 0; k < 3; k++)
			batches[i][k] = random_below(3) ? (struct arrival){0} : random_arrival();
	/* It comes to an end. */
	batches[MOST_POLLS - 1][2] = (struct arrival){sizeof(struct fxt_packet), {FXT_MANAGER_STOP, 0, 0, 0}};
	batches[MOST_POLLS - 1][0] = batches[MOST_POLLS - 1][1] = (struct arrival){0};
	polls = 0;
	fxt_buffer_hand_over(&buffer);
	if (!buffer.managed || is_over() || !may_tell())
		return;
	/* What came during the polls is in arrivals[] by now. The model looks at it as late. */
	model.is_all_saved = false;
	model_say((struct fxt_packet){FXT_PROVIDER_ENDING, 0, 0, 0});
	for (model.polls = 0;; model.polls++) {
		unsigned all = arrival_count, there = arrival_count;

		for (i = model.polls; i < polls; i++)
			for (k = 0; k < 3; k++)
				there -= batches[i][k].bytes != 0;
		arrival_count = there;
		model_hear();
		arrival_count = all;
		if (model.is_all_saved || is_over() || model.is_deaf || !buffer.managed)
			break;
		ck_assert_uint_lt(model.polls, polls);
	}
	ck_assert_uint_eq(polls, model.polls);
}

static void look(void)
{
	ck_assert_int_eq(buffer.failure, model.failure);
	ck_assert_uint_eq(buffer.full_bytes, model.full_bytes);
	ck_assert_uint_eq(buffer.is_all_saved, model.is_all_saved);
	ck_assert_uint_eq(buffer.saved_wraps, model.saved_wraps);
	ck_assert_uint_eq(buffer.is_deaf, model.is_deaf);
	ck_assert_uint_eq(arrivals_read, model.read);
	ck_assert_uint_eq(sends, model.sends);
	ck_assert_uint_eq(sent_count, model.sent_count);
	ck_assert_mem_eq(sent, model.sent, sent_count * sizeof(*sent));
	ck_assert_uint_eq(buffer.header->num_records_dropped, model.dropped);
	ck_assert_uint_eq(buffer.header->outlives_connection, !model.leavers);
	ck_assert_int_eq(fxt_managed_is_over(&buffer), is_over());
	ck_assert_int_eq(fxt_managed_is_gone(&buffer), is_dead());
	ck_assert_int_eq(fxt_managed_is_saving(&buffer),
			 buffer.managed && !is_over() && !(buffer.manager_word && is_dead()) &&
				 model.saved_wraps != model.pass &&
				 buffer.header->saves == buffer.asked_saves);
}

/* Something happens that the buffer has not been told of. */
static void happen(int other_file, int connection)
{
	unsigned which = (unsigned)random_below(14);

	if (which == 0 && random_below(3) == 0) {
		model.has_other_file = !model.has_other_file;
		ck_assert_int_eq(dup2(model.has_other_file ? other_file : connection, buffer.fd), buffer.fd);
	} else if (which == 1) {
		fxt_forbidden ^= FXT_NO_TALK;
	} else if (which == 2) {
		fxt_lender = fxt_lender ? 0 : (uint32_t)getpid() + 1;
	} else if (which == 3 && random_below(4) == 0) {
		manager_word = random_below(2) ? 0 : 77 | FXT_MANAGER_DIED;
	} else if (which == 4 && model.is_deaf) {
		/* It has closed the connection by then. */
		buffer.is_kept = true;
	} else if (which == 5) {
		has_room = !has_room;
	} else if (which == 6) {
		buffer.header->saves++;
	} else if (which == 7) {
		buffer.asked_saves = buffer.header->saves;
	} else if (which == 8) {
		model.pass = model.saved_wraps + (unsigned)random_below(2);
		buffer.cursor = (uint64_t)model.pass << 32 | random_below(9);
	} else if (which == 9 && random_below(4) == 0) {
		buffer.managed = !buffer.managed;
	} else {
		struct arrival arrival = random_arrival();

		arrive(&arrival);
	}
}

static void act(void)
{
	uint64_t records = random_below(50);
	uint32_t wraps = model.saved_wraps + (uint32_t)random_below(3) - 1;
	bool leaves = random_below(2);

	switch (random_below(8)) {
	case 0:
		tell();
		break;
	case 1:
		mute();
		break;
	case 2:
		if (random_below(3) == 0)
			hand_over();
		break;
	case 3:
		fxt_buffer_tell_dropped(&buffer, records);
		if (buffer.managed && records > model.dropped)
			model.dropped = records;
		break;
	case 4:
		fxt_buffer_leaves(&buffer, leaves);
		model.leavers = leaves ? model.leavers + 1 : model.leavers - !!model.leavers;
		break;
	case 5:
		if (!fxt_may_not_lock()) {
			fxt_managed_saved(&buffer, wraps);
			note_saved(wraps);
		}
		break;
	case 6:
		if (!fxt_may_not_lock() && random_below(4) == 0) {
			fxt_managed_all_saved(&buffer);
			model.is_all_saved = true;
		}
		break;
	default:
		hear();
	}
}

static void begin(void)
{
	unsigned i;

	memset(&model, 0, sizeof(model));
	arrival_count = arrivals_read = sent_count = sends = 0;
	for (i = 0; i < MOST; i++)
		send_results[i] = random_below(10) ? (long)sizeof(struct fxt_packet)
						   : random_below(2) ? -EINTR : -EAGAIN;
	make_buffer((enum fxt_mode)(random_below(4) ? FXT_STREAMING : FXT_ONESHOT), FXT_BUFFER_MIN_BYTES);
	manager_word = 77;
	buffer.manager_word = random_below(3) ? &manager_word : NULL;
	answers = answer;
}

START_TEST(talk)
{
	unsigned round, i;
	int other_file = open("/dev/null", O_RDWR), connection;

	random_seed(0);
	for (round = 0; round < ROUNDS; round++) {
		begin();
		connection = dup(buffer.fd);
		for (i = 0; i < STEPS && arrival_count < MOST - 3 * MOST_POLLS - 1 && sends < MOST - 8; i++) {
			happen(other_file, connection);
			act();
			look();
		}
		answers = NULL;
		fxt_forbidden = 0;
		fxt_lender = 0;
		close(buffer.fd);
		close(connection);
		close(manager_end);
		fxt_buffer_forget(&buffer);
	}
}
END_TEST

int main(void)
{
	TCase *test = tcase_create("talk");

	tcase_set_timeout(test, 60);
	tcase_add_test(test, talk);
	return RUN_SUITE("talk", test);
}
