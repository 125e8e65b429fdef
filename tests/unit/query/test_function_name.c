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
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool<shop::Order>::run", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool<int>::run", false},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "Pool", false},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "run(std::function<int(shop::Order)> const&)", true},
	{"shop::detail::Pool<shop::Order>::run(std::function<int (shop::Order)> const&)", "run(int)", false},
	{"(anonymous namespace)::hidden(int)", "hidden", true},
	{"shop::(anonymous namespace)::hidden(int)", "shop::hidden", true},
	{"shop::(anonymous namespace)::hidden(int)", "(anonymous namespace)::hidden", true},
	{"shop::label[abi:cxx11](shop::Order const&)", "label", true},
	{"shop::label[abi:cxx11](shop::Order const&)", "label[abi:cxx11]", true},
	{"shop::Less::operator()(shop::Order const&, shop::Order const&) const [clone .constprop.0]", "operator()", true},
	{"shop::Less::operator()(shop::Order const&, shop::Order const&) const [clone .constprop.0]", "Less::operator()", true},
	{"std::ostream& std::operator<< <char>(std::ostream&)", "operator<<", true},
	{"std::ostream& std::operator<< <char>(std::ostream&)", "operator<", false},
	{"std::pair<int, int>& std::pair<int, int>::operator=<int>(int)", "pair::operator=", true},
	{"box::operator unsigned long() const", "operator unsigned long", true},
	{"std::vector<int, std::allocator<int> >::~vector()", "vector::~vector", true},
	{"std::vector<int, std::allocator<int> >::~vector()", "~vector", true},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const", "std::string::size", true},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const", "string::size", true},
	{"std::__cxx11::list<int, std::allocator<int> >::clear()", "std::list::clear", true},
	{"f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)", "f(std::string const&)", true},
	{"f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)", "f(std::string)", false},
	{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()", true},
	{"run(int)::Local::go(char)", "Local::go", true},
	{"run(int)::Local::go(char)", "run::Local::go", true},
	{"run(int)::Local::go(char)", "run", false},
	{"decltype (f<int>()) shop::pick<int>(int)", "pick", true},
	{"decltype (f<int>()) shop::pick<int>(int)", "shop::pick", true},
	{"non-virtual thunk to shop::Box::open()", "Box::open", true},
	{"std::_Function_handler<int (int), main::{lambda(int)#1}>::_M_invoke(std::_Any_data const&, int&&)", "_Function_handler::_M_invoke", true},
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
	{"<core::iter::Map<I,F> as core::iter::Iterator>::fold::<(), core::iter::for_each::call<i32, {closure#0}>::{closure#0}>", "Map::fold", true},
	{"<std::sync::once::Once>::call_once::<std::rt::cleanup::{closure#0}>::{closure#0}", "Once::call_once::{closure#0}", true},
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
