/* Records calls as instants: see trampoline.h. The exported functions are in assembler: each saves every
 * register that an argument can be in, calls before_SYMBOL(), which records the call and returns the real
 * function, and jumps there. before_SYMBOL() gets the arguments, and as its sixth the address of the saved
 * registers.
 */
#include <dlfcn.h>
#include <error.h>

#include "agent/base/error_text.h"
#include "interpose.h"
#include "stderr_text.h"
#include "trampoline.h"
#include "writer/decimal.h"

#if defined(__x86_64__)
/* rax holds how many vector registers a variadic call uses. Integers and vectors lie as va_arg() wants them
 * (list_after()). */
#define ENTRY(symbol)                                                                                   \
	__asm__(".text\n.globl " #symbol "\n.type " #symbol ",@function\n.balign 16\n" #symbol ":\n"       \
		".cfi_startproc\n\tendbr64\n\tpushq %rbp\n\t"						\
		".cfi_def_cfa_offset 16\n\t.cfi_offset %rbp,-16\n\t"					\
		"movq %rsp,%rbp\n\t.cfi_def_cfa_register %rbp\n\tsubq $192,%rsp\n\t"                       \
		"movq %rdi,(%rsp)\n\tmovq %rsi,8(%rsp)\n\tmovq %rdx,16(%rsp)\n\tmovq %rcx,24(%rsp)\n\t"    \
		"movq %r8,32(%rsp)\n\tmovq %r9,40(%rsp)\n\tmovq %rax,176(%rsp)\n\t"                        \
		"movaps %xmm0,48(%rsp)\n\tmovaps %xmm1,64(%rsp)\n\tmovaps %xmm2,80(%rsp)\n\t"              \
		"movaps %xmm3,96(%rsp)\n\tmovaps %xmm4,112(%rsp)\n\tmovaps %xmm5,128(%rsp)\n\t"           \
		"movaps %xmm6,144(%rsp)\n\tmovaps %xmm7,160(%rsp)\n\t"                                     \
		"movq %rsp,%r9\n\tcall before_" #symbol "\n\tmovq %rax,%r11\n\t"                          \
		"movq (%rsp),%rdi\n\tmovq 8(%rsp),%rsi\n\tmovq 16(%rsp),%rdx\n\tmovq 24(%rsp),%rcx\n\t"    \
		"movq 32(%rsp),%r8\n\tmovq 40(%rsp),%r9\n\tmovq 176(%rsp),%rax\n\t"                        \
		"movaps 48(%rsp),%xmm0\n\tmovaps 64(%rsp),%xmm1\n\tmovaps 80(%rsp),%xmm2\n\t"              \
		"movaps 96(%rsp),%xmm3\n\tmovaps 112(%rsp),%xmm4\n\tmovaps 128(%rsp),%xmm5\n\t"           \
		"movaps 144(%rsp),%xmm6\n\tmovaps 160(%rsp),%xmm7\n\t"                                     \
		"leave\n\t.cfi_def_cfa %rsp,8\n\tjmp *%r11\n\t.cfi_endproc\n"                              \
		".size " #symbol ",.-" #symbol "\n");
#else
/* x16 is the register for jumps through a table. "hint #34" is a landing pad (bti c) for processors that look
 * for one. */
#define ENTRY(symbol)                                                                                   \
	__asm__(".text\n.globl " #symbol "\n.type " #symbol ",%function\n.balign 16\n" #symbol ":\n"       \
		".cfi_startproc\n\thint #34\n\tstp x29,x30,[sp,#-224]!\n\t.cfi_def_cfa_offset 224\n\t"     \
		".cfi_offset 29,-224\n\t.cfi_offset 30,-216\n\tmov x29,sp\n\t"                             \
		"stp x0,x1,[sp,#16]\n\tstp x2,x3,[sp,#32]\n\tstp x4,x5,[sp,#48]\n\tstp x6,x7,[sp,#64]\n\t" \
		"str x8,[sp,#80]\n\tstp q0,q1,[sp,#96]\n\tstp q2,q3,[sp,#128]\n\tstp q4,q5,[sp,#160]\n\t"  \
		"stp q6,q7,[sp,#192]\n\tmov x5,sp\n\tbl before_" #symbol "\n\tmov x16,x0\n\t"         \
		"ldp x0,x1,[sp,#16]\n\tldp x2,x3,[sp,#32]\n\tldp x4,x5,[sp,#48]\n\tldp x6,x7,[sp,#64]\n\t" \
		"ldr x8,[sp,#80]\n\tldp q0,q1,[sp,#96]\n\tldp q2,q3,[sp,#128]\n\tldp q4,q5,[sp,#160]\n\t"  \
		"ldp q6,q7,[sp,#192]\n\tldp x29,x30,[sp],#224\n\t.cfi_def_cfa_offset 0\n\t"                \
		".cfi_restore 29\n\t.cfi_restore 30\n\tbr x16\n\t.cfi_endproc\n"                           \
		".size " #symbol ",.-" #symbol "\n");
#endif

/* Makes the list of what follows the `named` arguments of a variadic call, all of which are in integer
 * registers. */
static void list_after(va_list *list, char *saved, unsigned named)
{
#if defined(__x86_64__)
	(*list)->gp_offset = named * 8;
	(*list)->fp_offset = 48;
	(*list)->reg_save_area = saved;
	(*list)->overflow_arg_area = saved + 192 + 16;
#else
	list->__stack = saved + 224;
	list->__gr_top = saved + 80;
	list->__gr_offs = -8 * (8 - (int)named);
	list->__vr_top = saved + 224;
	list->__vr_offs = -128;
#endif
}

/* Records what error() says. Here alone a text is recorded before it is written, and so even if it never is.
 * The program may have a function of its own that prints its name: what that function writes is seen by the
 * calls that it makes. */
static __attribute__((noinline)) void say_error(char *saved, unsigned named, int errnum, const char *filename,
						unsigned linenum, const char *format)
{
	char room[FXT_NUMBERED_BYTES], number[FXT_DECIMAL_BYTES + 1];
	const char *program = error_print_progname ? "" : program_invocation_name,
		   *colon = error_print_progname ? "" : ":";
	struct fxt_stderr_line here = {{program, colon, filename, ":", number, ": ", NULL}, NULL};
	struct fxt_stderr_line line = {{program, colon, " ", NULL}, NULL};
	va_list list;

	number[fxt_decimal(number, linenum)] = '\0';
	if (filename)
		line = here;
	if (errnum)
		line.why = fxt_error_text(errnum, room);
	list_after(&list, saved, named);
	fxt_stderr_complaint(&line, errno, format, list);
}

#define SAY_ERROR(named, filename, linenum)     \
	if (fxt_is_on(FXT_CAT_log))             \
		say_error(saved, named, errnum, filename, linenum, format);

/* Makes before_SYMBOL(), which the entry of `symbol` calls. `put` puts `count` arguments of up to `words`
 * words at `at`; `say` is done behind that. */
#define BEFORE(category, symbol, event, params, words, count, put, say)                         \
	void *fxt_real_##symbol;                                                                \
	__attribute__((used, visibility("hidden"))) void *before_##symbol params;               \
	void *before_##symbol params                                                            \
	{                                                                                       \
		struct fxt_thread *thread;                                                      \
		uint64_t *at;                                                                   \
												\
		if (FXT_UNLIKELY(!__atomic_load_n(&fxt_real_##symbol, __ATOMIC_ACQUIRE))) {     \
			fxt_interpose_start();                                                  \
			if (!fxt_real_##symbol)                                                 \
				fxt_interpose_find(&fxt_real_##symbol);                         \
		}                                                                               \
		thread = fxt_enter(FXT_CAT_##category);                                         \
		if (thread && (at = fxt_reserve(thread, fxt_now(thread), words)) != NULL) {     \
			put                                                                     \
			fxt_instant(thread, at, FXT_NAMES(category, event), count);             \
		}                                                                               \
		say                                                                             \
		return fxt_real_##symbol;                                                       \
	}                                                                                       \
	ENTRY(symbol)

/* Other arguments may be refused before anybody looks at the name. */
#define FILENAME_BYTES fxt_text_bytes_checked(thread, filename)
#define FILENAME_WORDS (2 + fxt_words_of(FILENAME_BYTES))
#define PUT_FILENAME at = fxt_put_text(at, FXT_STR_filename, filename, FILENAME_BYTES);

BEFORE(dl, dlopen, dlopen, (const char *filename, int flags), FILENAME_WORDS + 1, 2,
       PUT_FILENAME at = fxt_put_int(at, FXT_STR_flags, flags);, )
BEFORE(dl, dlmopen, dlmopen, (Lmid_t lmid, const char *filename, int flags), FILENAME_WORDS + 3, 3,
       at = fxt_put_long(at, FXT_STR_lmid, lmid);
       PUT_FILENAME at = fxt_put_int(at, FXT_STR_flags, flags);, )
/* Before the search is over the calling thread has no state, and it may not have thread-local variables. */
#define BEFORE_VFORK                    \
	if (fxt_interpose_is_found())   \
		fxt_in_progress_before_vfork();

BEFORE(process, vfork, vfork, (void), 0, 0, , BEFORE_VFORK)
BEFORE(process, __vfork, vfork, (void), 0, 0, , BEFORE_VFORK)
BEFORE(log, error, error,
       (int status, int errnum, const char *format, long fourth, long fifth, char *saved), 2, 2,
       at = fxt_put_int(at, FXT_STR_status, status);
       at = fxt_put_int(at, FXT_STR_errnum, errnum);, (void)fourth; (void)fifth; SAY_ERROR(3, NULL, 0))
BEFORE(log, error_at_line, error_at_line,
       (int status, int errnum, const char *filename, unsigned linenum, const char *format, char *saved),
       FILENAME_WORDS + 4, 4,
       at = fxt_put_int(at, FXT_STR_status, status);
       at = fxt_put_int(at, FXT_STR_errnum, errnum);
       PUT_FILENAME at = fxt_put_uint(at, FXT_STR_linenum, linenum);, SAY_ERROR(5, filename, linenum))
