/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests names of functions against patterns as users type them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/function_name.h"

struct one {
	const char *name;
	const char *text;
	bool is;
};

static const struct one list[] = {
	{"deflate", "deflate", true},
	{"deflate", "defl", false},
	{"deflate", "def*", true},
	{"deflate", "*x*", false},
	{"work(int)", "work", true},
	{"work(int)", "work(int)", true},
	{"work(int)", "int", false},
	{"ns::work(int) const", "ns::work", true},
	{"ns::work(int) const", "ns::work(int) const", true},
	{"work(int) [clone .cold]", "work", true},
	{"work(int) [clone .cold]", "work(int) [clone .cold]", true},
	{"work(int) [clone .cold]", "work(int)*", true},
	{"work(int)@plt", "work", true},
	{"int twice<int>(int)", "twice<int>", true},
	{"int twice<int>(int)", "twice<int>(int)", true},
	{"int twice<int>(int)", "int twice<int>(int)", true},
	{"int twice<int>(int)", "int twice<int>", true},
	{"int twice<int>(int)", "twice*", true},
	{"int twice<int>(int)", "int", false},
	{"std::map<int, char> make<std::map<int, char> >(unsigned long)", "make<std::map<int, char> >", true},
	{"void (anonymous namespace)::run<int>(int)", "(anonymous namespace)::run<int>", true},
	{"(anonymous namespace)::run(int)", "(anonymous namespace)::run", true},
	{"(anonymous namespace)::run(int)", "", false},
	{"box::operator()(int) const", "box::operator()", true},
	{"box::operator[](int)", "box::operator[]", true},
	{"bool std::operator< <char>(std::x<char> const&, int)", "std::operator< <char>", true},
	{"std::ostream& std::operator<< <char>(std::ostream&)", "std::operator<< <char>", true},
	{"box::operator->()", "box::operator->", true},
	{"operator new(unsigned long)", "operator new", true},
	{"operator new(unsigned long)", "new", false},
	{"box::operator unsigned long() const", "box::operator unsigned long", true},
	{"std::function<void (int)>::call(int)", "std::function<void (int)>::call", true},
	{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()", true},
	{"run(int)::{lambda()#1}::operator()() const", "run(int)::{lambda()#1}::operator()", true},
	{"operators(int)", "operators", true},
	{"runtime.(*mcache).refill", "runtime.(*mcache).refill", true},
	{"runtime.(*mcache).refill", "runtime.", false},
	{"<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt", true},
	{"odd)>name", "odd)>name", true},
	{"odd((name", "odd", false},
	{"JS:*f /a.js:1:1", "JS:*f /a.js:1:1", true},
	{"", "", true},
	{"", "*", true},
	{"f", "", false},
};

static void names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (query_function_is_called(list[i].name, list[i].text) != list[i].is)
			fail_msg("'%s' for '%s'", list[i].text, list[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
