/* What report knows of the calls of the C library. See call_roles.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "call_roles.h"

#include <stdlib.h>

#include "message.h"

static const struct fxt_role table[] = {
#define HEAP(call, what) {#call, FXT_FAMILY_HEAP, FXT_EFFECT_##what, "", "ptr"},
#define WAIT(call, object, which) {#call, FXT_FAMILY_WAIT, FXT_EFFECT_NONE, #object, #which},
#define FD(call, what, which) {#call, FXT_FAMILY_FD, FXT_EFFECT_##what, "", #which},
#define IDLE(call) {#call, FXT_FAMILY_IDLE, FXT_EFFECT_NONE, "", ""},
#include "call_roles.def"
#undef HEAP
#undef WAIT
#undef FD
#undef IDLE
};

static const struct fxt_role none;

static const struct fxt_role *find(const struct fxt_text *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (fxt_text_is(name, table[i].name))
			return &table[i];
	}
	return &none;
}

const struct fxt_role *fxt_role_of(struct fxt_roles *roles, struct fxt_reader *r,
				   const struct fxt_record *rec)
{
	uint32_t symbol = fxt_symbol(r, &rec->name);
	const struct fxt_role *role;

	while (roles->count <= symbol) {
		roles->by_symbol = fxt_grow(roles->by_symbol, &roles->capacity, roles->count + 1,
					    sizeof(struct fxt_role *));
		roles->by_symbol[roles->count++] = NULL;
	}
	if (!roles->by_symbol[symbol])
		roles->by_symbol[symbol] = find(&rec->name);
	role = roles->by_symbol[symbol];
	return role == &none || fxt_text_is(&rec->category, "function") ? NULL : role;
}

/* Of descriptors, what only makes one stands for nothing outside. */
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

void fxt_roles_free(struct fxt_roles *roles)
{
	free(roles->by_symbol);
}
