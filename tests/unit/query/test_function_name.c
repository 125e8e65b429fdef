/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests names of functions against patterns as users type them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/text/text.h"
#include "query/function_name.h"
#include "query/function_near.h"
#include "query/name_form.h"

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
	{"shop::rebate(std::map<int, char> const&, int)", "rebate", true},
	{"shop::rebate(std::map<int, char> const&, int)", "ebate", false},
	{"shop::rebate(std::map<int, char> const&, int)", "op::rebate", false},
	{"shop::rebate(std::map<int, char> const&, int)", "::rebate", false},
	{"shop::rebate(std::map<int, char> const&, int)", "::shop::rebate", true},
	{"shop::rebate(std::map<int, char> const&, int)", "reb*", true},
	{"shop::rebate(std::map<int, char> const&, int)", "shop", false},
	{"rebate", "::rebate", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "run", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool::run", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "detail::Pool::run", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool<shop::Order>::run",
	 true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool<int>::run", false},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool", false},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)",
	 "run(std::function<int(shop::Order)> const&)", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "run(int)", false},
	{"(anonymous namespace)::hidden(int)", "hidden", true},
	{"shop::(anonymous namespace)::hidden(int)", "shop::hidden", true},
	{"shop::(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden", true},
	{"shop::label[abi:cxx11](shop::Order const&)", "label", true},
	{"shop::label[abi:cxx11](shop::Order const&)", "label[abi:cxx11]", true},
	{"shop::Less::operator()(shop::Order const&, shop::Order const&) const [clone .constprop.0]", "operator()",
	 true},
	{"shop::Less::operator()(shop::Order const&, shop::Order const&) const [clone .constprop.0]",
	 "Less::operator()", true},
	{"std::ostream& std::operator<< <char>(std::ostream&)", "operator<<", true},
	{"std::ostream& std::operator<< <char>(std::ostream&)", "operator<", false},
	{"std::pair<int, int>& std::pair<int, int>::operator=<int>(int)", "pair::operator=", true},
	{"box::operator unsigned long() const", "operator unsigned long", true},
	{"std::vector<int, std::allocator<int> >::~vector()", "vector::~vector", true},
	{"std::vector<int, std::allocator<int> >::~vector()", "~vector", true},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const",
	 "std::string::size", true},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const",
	 "string::size", true},
	{"std::__cxx11::list<int, std::allocator<int> >::clear()", "std::list::clear", true},
	{"f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
	 "f(std::string const&)", true},
	{"f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)", "f(std::string)",
	 false},
	{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()", true},
	{"run(int)::Local::go(char)", "Local::go", true},
	{"run(int)::Local::go(char)", "run::Local::go", true},
	{"run(int)::Local::go(char)", "run", false},
	{"decltype (f<int>()) shop::pick<int>(int)", "pick", true},
	{"decltype (f<int>()) shop::pick<int>(int)", "shop::pick", true},
	{"non-virtual thunk to shop::Box::open()", "Box::open", true},
	{"std::_Function_handler<int (int), main::{lambda(int)#1}>::_M_invoke(std::_Any_data const&, int&&)",
	 "_Function_handler::_M_invoke", true},
	{"shop::shop::Pool<T>::run", "Pool::run", true},
	{"<shop::shop::Pool<alloc::string::String>>::run", "Pool::run", true},
	{"<shop::shop::Pool<alloc::string::String>>::run", "shop::Pool::run", true},
	{"<alloc::string::String as core::clone::Clone>::clone", "String::clone", true},
	{"<alloc::string::String as core::clone::Clone>::clone", "Clone::clone", true},
	{"<alloc::string::String as core::clone::Clone>::clone", "clone", true},
	{"<alloc::string::String as core::clone::Clone>::clone", "String", false},
	{"<&mut shop::Pool<i32> as core::iter::Iterator>::next", "Pool::next", true},
	{"core::fmt::num::imp::<impl core::fmt::Display for i32>::fmt", "i32::fmt", true},
	{"core::fmt::num::imp::<impl core::fmt::Display for i32>::fmt", "Display::fmt", true},
	{"<core::iter::Map<I,F> as core::iter::Iterator>::fold::<(), core::iter::for_each::call<i32, "
	 "{closure#0}>::{closure#0}>",
	 "Map::fold", true},
	{"<std::sync::once::Once>::call_once::<std::rt::cleanup::{closure#0}>::{closure#0}",
	 "Once::call_once::{closure#0}", true},
	{"<std::sync::once::Once>::call_once::<std::rt::cleanup::{closure#0}>::{closure#0}", "{closure#0}", true},
	{"shop::main::{{closure}}", "main::{{closure}}", true},
	{"main.(*Pool).Run", "Run", true},
	{"main.(*Pool).Run", "Pool.Run", true},
	{"main.(*Pool).Run", "(*Pool).Run", true},
	{"main.(*Pool).Run", "main.Pool.Run", true},
	{"main.(*Pool).Run", "Pool", false},
	{"main.Box[...].Get", "Box.Get", true},
	{"github.com/user/shop.rebate", "shop.rebate", true},
	{"github.com/user/shop.rebate", "rebate", true},
	{"runtime.nanotime1.abi0", "nanotime1", true},
	{"main.main.func1", "main.func1", true},
	{"intel_check_word.constprop.0", "intel_check_word", true},
	{"serve.part.0.cold", "serve", true},
	{"serve.part.0", "serve.part", false},
	{"serve.part.0", "0", false},
	{"serve", "serve.part.0", false},
	{"JS:*rebate /a.js:1:1", "rebate", true},
	{"py::rebate:/a.py", "rebate", true},
	{"shop::f(int", "shop::f(int", true},
	{"shop::a<b", "a<b", true},
};

static void names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (query_function_is_called(list[i].name, list[i].text) != list[i].is)
			fail_msg("'%s' for '%s'", list[i].text, list[i].name);
}

/* ---- short names --------------------------------------------------------------------------------- */

static const char *const short_names[][2] = {
	{"deflate", "deflate"},
	{"work(int)", "work"},
	{"int twice<int>(int)", "twice"},
	{"void std::__introsort_loop<shop::Order*, long>(shop::Order*, shop::Order*, long)", "std::__introsort_loop"},
	{"shop::rebate(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, int)",
	 "shop::rebate"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_replace(unsigned long)",
	 "std::string::_M_replace"},
	{"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::size() const",
	 "std::wstring::size"},
	{"std::__cxx11::basic_ostringstream<char, std::char_traits<char>, std::allocator<char> >::str() const",
	 "std::basic_ostringstream::str"},
	{"std::enable_if<std::is_move_constructible<shop::Order>::value, void>::type "
	 "std::swap<shop::Order>(shop::Order&)",
	 "std::swap"},
	{"std::_Function_handler<int (shop::Order), main::{lambda(shop::Order)#1}>::_M_invoke(std::_Any_data const&)",
	 "std::_Function_handler::_M_invoke"},
	{"main::{lambda(shop::Order)#1}::operator()(shop::Order) const", "main::{lambda#1}::operator()"},
	{"run(int)::Local::go(char)", "run::Local::go"},
	{"shop::Less::operator()(int, int) const [clone .constprop.0]", "shop::Less::operator() [clone .constprop.0]"},
	{"(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden"},
	{"shop::label[abi:cxx11](shop::Order const&)", "shop::label"},
	{"std::ostream& std::operator<< <char>(std::ostream&)", "std::operator<<"},
	{"bool operator< <int>(box<int> const&, box<int> const&)", "operator<"},
	{"box::operator[](int)", "box::operator[]"},
	{"operator new[](unsigned long)", "operator new[]"},
	{"box::operator unsigned long() const", "box::operator unsigned long"},
	{"box<int>::operator/(int)", "box::operator/"},
	{"non-virtual thunk to shop::Box<int>::open(int)", "non-virtual thunk to shop::Box::open"},
	{"decltype (f<int>()) shop::pick<int>(int)", "shop::pick"},
	{"shop::shop::Pool<T>::run", "shop::shop::Pool::run"},
	{"<shop::shop::Pool<alloc::string::String>>::run", "shop::shop::Pool::run"},
	{"<alloc::string::String as core::clone::Clone>::clone",
	 "<alloc::string::String as core::clone::Clone>::clone"},
	{"<core::hash::sip::Hasher<S> as core::hash::Hasher>::write",
	 "<core::hash::sip::Hasher as core::hash::Hasher>::write"},
	{"<hashbrown::raw::RawTable<(alloc::string::String, i32)>>::reserve_rehash::<f::{closure#0}>",
	 "hashbrown::raw::RawTable::reserve_rehash"},
	{"<std::sync::once::Once>::call_once::<std::rt::cleanup::{closure#0}>::{closure#0}",
	 "std::sync::once::Once::call_once::{closure#0}"},
	{"core::fmt::num::imp::<impl core::fmt::Display for i32>::fmt",
	 "core::fmt::num::imp::<impl core::fmt::Display for i32>::fmt"},
	{"runtime.(*mheap).allocSpan", "runtime.(*mheap).allocSpan"},
	{"JS:*<anonymous> /a.js:1:1", "JS:*<anonymous> /a.js:1:1"},
	{"odd((name", "odd((name"},
	{"odd<name", "odd<name"},
	{"a>b(c", "a>b(c"},
	{"", ""},
};

static void shorten(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
		struct ptl_bytes text = {0};

		query_short_name(short_names[i][0], &text);
		assert_string_equal(common_text_string(&text), short_names[i][1]);
		/* The shown name finds the function. */
		if (!query_function_is_called(short_names[i][0], short_names[i][1]))
			fail_msg("'%s' does not find '%s'", short_names[i][1], short_names[i][0]);
		common_bytes_free(&text);
	}
}

/* ---- near names ---------------------------------------------------------------------------------- */

static void near_names(void **state)
{
	static const char *const known[] = {"shop::rebate(std::map<int, int> const&, int)",
					    "shop::detail::Pool<int>::run(int)",
					    "main",
					    "shop::parse_header(int)",
					    "shop::parse_body(int)",
					    "shop::parse_body(long)",
					    "shop::parse_tail(int)",
					    "shop::parse_next_line(int)"};
	static const char *const asked[][2] = {
		{"rebat", " (did you mean 'shop::rebate'?)"},
		{"Rebate", " (did you mean 'shop::rebate'?)"},
		{"shopp::rebate", " (did you mean 'shop::rebate'?)"},
		{"store::rebate", " (did you mean 'shop::rebate'?)"},
		{"mian", " (did you mean 'main'?)"},
		{"Pol::run", " (did you mean 'shop::detail::Pool::run'?)"},
		{"parse", " (did you mean 'shop::parse_body', 'shop::parse_tail' or 'shop::parse_header'?)"},
		{"xy", ""},
		{"nothing_like_this", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct query_near near = {.text = asked[i][0]};

		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			query_near_look(&near, known[k]);
		assert_string_equal(query_near_question(&near), asked[i][1]);
	}
}

static void namesakes(void **state)
{
	static const char *const names[] = {"z::run(int)", "a::run()", "a::run(int)", "bb::run", "c::run", "d::run"};
	struct query_function_names found = {0};

	(void)state;
	query_function_names_add(&found, names[0]);
	query_function_names_add(&found, names[1]);
	query_function_names_add(&found, names[2]);
	assert_int_equal(found.count, 2);
	assert_string_equal(query_function_names_text(&found), "a::run and z::run");
	for (size_t i = 3; i < sizeof(names) / sizeof(names[0]); i++)
		query_function_names_add(&found, names[i]);
	assert_string_equal(query_function_names_text(&found), "a::run, c::run, d::run and others");
}

/* ---- clones -------------------------------------------------------------------------------------- */

static void clones(void **state)
{
	(void)state;
	assert_true(query_function_is_clone("serve.part.0"));
	assert_true(query_function_is_clone("serve.cold"));
	assert_true(query_function_is_clone("serve(int) [clone .isra.0]"));
	assert_false(query_function_is_clone("serve"));
	assert_false(query_function_is_clone("main.(*Pool).Run"));
	assert_false(query_function_is_clone(".text"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(shorten),
					   cmocka_unit_test(near_names), cmocka_unit_test(namesakes),
					   cmocka_unit_test(clones)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
