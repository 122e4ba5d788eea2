/* Names of hosts and networks: netdb.def. */
#include <arpa/nameser.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include "interpose.h"

typedef char *char_pointer;
typedef char interface_name[IF_NAMESIZE];
typedef struct hostent *host_entry;
typedef struct netent *net_entry;
typedef struct servent *service_entry;
typedef struct protoent *protocol_entry;
typedef struct gaicb **request_list;
typedef const struct gaicb *const *const_request_list;

/* GAI: an EAI_ code; errno says more with one of them. */
#define FAILURE_GAI (result_ == EAI_SYSTEM ? errno : 0)
#define RESULT_GAI RESULT_PLAIN_INT

#define FXT_TABLE "netdb.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_netdb
#include "reals.inc"
