/* The engine (engine.h) is made of these macros, which go over lists of macro arguments: the preprocessor has
 * no loops.
 *
 *	FXT_EACH(m, (a), (b))           m(a) m(b)
 *	FXT_LIST(m, (a), (b))           m(a), m(b)
 *	FXT_SECOND(NAME_x, fallback, )  text, if there is a `#define NAME_x , text`; otherwise the fallback.
 *	                                By such a definition a table's word differs from the usual.
 *
 * Each list has eight elements at most.
 */
#ifndef FXT_EACH_H
#define FXT_EACH_H

#define FXT_EACH_1(m, x) m x
#define FXT_EACH_2(m, x, ...) m x FXT_EACH_1(m, __VA_ARGS__)
#define FXT_EACH_3(m, x, ...) m x FXT_EACH_2(m, __VA_ARGS__)
#define FXT_EACH_4(m, x, ...) m x FXT_EACH_3(m, __VA_ARGS__)
#define FXT_EACH_5(m, x, ...) m x FXT_EACH_4(m, __VA_ARGS__)
#define FXT_EACH_6(m, x, ...) m x FXT_EACH_5(m, __VA_ARGS__)
#define FXT_EACH_7(m, x, ...) m x FXT_EACH_6(m, __VA_ARGS__)
#define FXT_EACH_8(m, x, ...) m x FXT_EACH_7(m, __VA_ARGS__)
#define FXT_COMMA_1(m, x) m x
#define FXT_COMMA_2(m, x, ...) m x, FXT_COMMA_1(m, __VA_ARGS__)
#define FXT_COMMA_3(m, x, ...) m x, FXT_COMMA_2(m, __VA_ARGS__)
#define FXT_COMMA_4(m, x, ...) m x, FXT_COMMA_3(m, __VA_ARGS__)
#define FXT_COMMA_5(m, x, ...) m x, FXT_COMMA_4(m, __VA_ARGS__)
#define FXT_COMMA_6(m, x, ...) m x, FXT_COMMA_5(m, __VA_ARGS__)
#define FXT_COMMA_7(m, x, ...) m x, FXT_COMMA_6(m, __VA_ARGS__)
#define FXT_COMMA_8(m, x, ...) m x, FXT_COMMA_7(m, __VA_ARGS__)
#define FXT_COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define FXT_COUNT(...) FXT_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define FXT_PASTE_(a, b) a##b
#define FXT_PASTE(a, b) FXT_PASTE_(a, b)
#define FXT_NOTHING(...)
#define FXT_SECOND_(a, b, ...) b
#define FXT_SECOND(...) FXT_SECOND_(__VA_ARGS__)
#define FXT_EACH(m, ...) FXT_PASTE(FXT_EACH_, FXT_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define FXT_LIST(m, ...) FXT_PASTE(FXT_COMMA_, FXT_COUNT(__VA_ARGS__))(m, __VA_ARGS__)

#endif
