/* Makes the wrappers of calls that look up names of hosts and networks: netdb.def, and the kinds of parameter
 * and result that only it has. */
#include <arpa/nameser.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include "address.h"
#include "interpose/engine/interpose.h"

typedef char *char_pointer;
typedef char interface_name[IF_NAMESIZE];
typedef struct hostent *host_entry;
typedef struct netent *net_entry;
typedef struct servent *service_entry;
typedef struct protoent *protocol_entry;
typedef struct gaicb **request_list;
typedef const struct gaicb *const *const_request_list;

/* TEXT_OUT: a buffer `host` of `hostlen` bytes, which holds a string once the call has succeeded. */
#define COUNT_TEXT_OUT 0
#define WORDS_TEXT_OUT(name) (2 + fxt_words_of(name##_bytes))
#define MEASURE_TEXT_OUT(name) \
	size_t name##_bytes = result_ || !name || !name##len ? 0 : fxt_text_bytes(name);
#define PUT_TEXT_OUT(name)                                                   \
	if (name##_bytes) {                                                  \
		at_ = fxt_put_text(at_, FXT_STR_##name, name, name##_bytes); \
		arguments_++;                                                \
	}

/* GAI: an EAI_ code; with EAI_SYSTEM, errno says more. */
#define FAILURE_GAI (result_ == EAI_SYSTEM ? errno : 0)
#define RESULT_GAI RESULT_PLAIN_INT

#define FXT_TABLE "interpose/tables/netdb.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_netdb
#include "interpose/engine/reals.inc"
