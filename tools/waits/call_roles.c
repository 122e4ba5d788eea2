/* See call_roles.h. The table of roles is made from the tables of interpose/. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "call_roles.h"

#include <stdlib.h>

#include "interpose/engine/each.h"
#include "interpose/engine/roles.h"
#include "tools/common/message.h"

/* ROLE_INIT() turns a role in the words of interpose/engine/roles.h into the members of a struct fxt_role
 * behind the name. It pastes the role's word to ROLE_IS_ and puts `(first)` behind, the name of the call's
 * first parameter. A word with arguments of its own has its `(...)` already, so its macro ends with
 * FXT_NOTHING, which takes the `(first)` away. */
#define ROLE_INIT(role, first) FXT_PASTE(ROLE_IS_, role)(first)
#define ROLE_IS_NONE(first) FXT_FAMILY_NONE, FXT_EFFECT_NONE, "", ""
#define ROLE_IS_IDLE(first) FXT_FAMILY_IDLE, FXT_EFFECT_NONE, "", ""
#define ROLE_IS_WAIT_FOR_FIRST(first) FXT_FAMILY_WAIT, FXT_EFFECT_NONE, TEXT(WAITS_FOR_##first), #first
#define ROLE_IS_CLOSES_FIRST(first) FXT_FAMILY_FD, FXT_EFFECT_CLOSE_STREAM, "", #first
#define ROLE_IS_WAIT(argument) \
	FXT_FAMILY_WAIT, FXT_EFFECT_NONE, TEXT(WAITS_FOR_##argument), #argument FXT_NOTHING
#define ROLE_IS_HEAP(effect) FXT_FAMILY_HEAP, FXT_EFFECT_##effect, "", "ptr" FXT_NOTHING
#define ROLE_IS_FD(effect, argument) FXT_FAMILY_FD, FXT_EFFECT_##effect, "", #argument FXT_NOTHING
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x
#define NAME_OF(type, name, kind) name
#define FIRST_NAME(first, ...) NAME_OF first

/* The first row with a name counts. So roles that a line of the tables states come before those that follow
 * from the line's other columns. */
static const struct fxt_role table[] = {
#define ROLE(name, role) {#name, ROLE_INIT(role, )},
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"

#define BY_HAND(category, name, role) {#name, ROLE_INIT(role, )},
#define EVENT BY_HAND
#define CALL(category, type, name, blocks, result, ...)                                                 \
	{#name, ROLE_INIT(FXT_SECOND(ROLE_FORM_##blocks,                                                \
				     FXT_SECOND(ROLE_OF_##result,                                       \
						FXT_SECOND(ROLE_AT_##blocks, IDLE, ), ), ),             \
			  FIRST_NAME(__VA_ARGS__, ))},
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

static const struct fxt_role none;

static const struct fxt_role *find(const struct fxt_text *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (fxt_text_is(name, table[i].name))
			return table[i].family == FXT_FAMILY_NONE ? &none : &table[i];
	}
	return &none;
}

const struct fxt_role *fxt_role_of(struct fxt_roles *roles, struct fxt_reader *r,
				   const struct fxt_record *rec)
{
	uint32_t symbol = fxt_symbol(r, &rec->name);
	const struct fxt_role *role;

	if (symbol >= roles->count || !roles->by_symbol[symbol]) {
		roles->by_symbol = fxt_reach(roles->by_symbol, &roles->capacity, &roles->count, symbol,
					     sizeof(struct fxt_role *));
		roles->by_symbol[symbol] = find(&rec->name);
	}
	role = roles->by_symbol[symbol];
	return role == &none || fxt_text_is(&rec->category, "function") ? NULL : role;
}

/* A call that only makes or names a descriptor does not wait for the world outside. */
enum fxt_standing fxt_role_standing(const struct fxt_role *role)
{
	if (!role || role->family == FXT_FAMILY_HEAP)
		return FXT_STANDING_NONE;
	if (role->family == FXT_FAMILY_WAIT)
		return FXT_STANDING_BLOCKED;
	switch (role->effect) {
	case FXT_EFFECT_STREAM_OF:
	case FXT_EFFECT_SOCKET:
	case FXT_EFFECT_ADDRESS:
	case FXT_EFFECT_SPECIAL:
	case FXT_EFFECT_PAIR:
	case FXT_EFFECT_MODE:
	case FXT_EFFECT_CLOSE_RANGE:
	case FXT_EFFECT_DUP: return FXT_STANDING_NONE;
	default: return FXT_STANDING_WAITING;
	}
}

uint64_t fxt_waited_ns(const struct fxt_record *rec)
{
	uint64_t ns = fxt_duration_ns(rec);
	uint64_t cpu_ns = fxt_argument_or(rec, "cpu_ns", 0), voluntary;

	/* A thread that never gave up the processor by itself ran, or was ready to run. */
	if (fxt_argument_u64(fxt_argument(rec, "voluntary"), &voluntary) && voluntary == 0)
		return 0;
	return ns - (cpu_ns < ns ? cpu_ns : ns);
}

void fxt_roles_free(struct fxt_roles *roles)
{
	free(roles->by_symbol);
}
