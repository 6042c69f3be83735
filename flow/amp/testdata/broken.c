/* Libraries that must not be loaded by a program that wants to live: -DCRASH
 * dies when it is loaded, -DHANG never says what it has.                      */
#include "amp.h"

#ifdef CRASH
static int* volatile nowhere; /* the compiler must not see that it is NULL */
__attribute__((constructor)) static void at_once(void) { *nowhere = 0; }
#endif

const amp_library_info_t* amp_library_info(const amp_host_t* host) {
    (void)host;
#ifdef HANG
    for (volatile int on = 1; on;) {
    }
#endif
    return 0;
}

int amp_run_node(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* i, amp_buffer_t* o) {
    (void)d, (void)s, (void)i, (void)o;
    return AMP_E_UNKNOWN_NODE;
}
