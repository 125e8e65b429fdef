// SPDX-License-Identifier: BSD-2-Clause
// A provider in C++: every kind of field, activities, and an event from a destructor at the very end.
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <ptl/provider.h>

PTL_PROVIDER(cxx, "Example-Cxx");
PTL_MAP(cxx, weekdays, "Weekday", PTL_MAP_VALUES, {0, "Monday"}, {6, "Sunday"});

PTL_EVENT(cxx, numbers, 1, "Numbers", PTL_LEVEL_INFORMATIONAL, 0x1, "{0} {1}", PTL_U8(u8), PTL_I64(i64), PTL_F64(f64),
	  PTL_BOOL(yes), PTL_HEX32(hex), PTL_U32_MAP(day, "Weekday"));
PTL_EVENT(cxx, texts, 2, "Texts", PTL_LEVEL_INFORMATIONAL, 0x1, "{1}", PTL_UTF8(utf8), PTL_UTF16(utf16),
	  PTL_UTF8_COUNTED(counted), PTL_BYTES(bytes));
PTL_EVENT(cxx, arrays, 3, "Arrays", PTL_LEVEL_INFORMATIONAL, 0x1, nullptr, PTL_ARRAY(U16, fixed, 3),
	  PTL_LIST(F64, list), PTL_STRUCT(point, 2), PTL_I32(x), PTL_I32(y));
PTL_EVENT(cxx, last, 4, "Last", PTL_LEVEL_INFORMATIONAL, 0x1, "in a destructor");
PTL_START_EVENT(cxx, work_start, 5, "WorkStart", PTL_LEVEL_INFORMATIONAL, 0x1, 1, 0, nullptr, PTL_U32(number));
PTL_STOP_EVENT(cxx, work_stop, 6, "WorkStop", PTL_LEVEL_INFORMATIONAL, 0x1, 1, 0, nullptr, PTL_U32(number));

namespace
{

class Registration
{
      public:
	Registration()
	{
		ptl_provider_register(&cxx);
	}
	~Registration()
	{
		last();
		ptl_provider_unregister(&cxx);
	}
};

void work(std::uint32_t number)
{
	work_start(number);
	numbers(255, -1, 0.5, true, 0xff, 6);
	work_stop(number);
}

} // namespace

int main()
{
	static Registration registration;
	const std::string text = "Größe";
	const std::array<std::uint16_t, 3> fixed = {1, 2, 3};
	const std::vector<double> list = {1.5, -2.0};
	std::vector<std::thread> threads;

	texts("Zoë", u"李小龙", text.data(), text.size(), "\x01\x02", 2);
	arrays(fixed.data(), list.data(), list.size(), 3, -4);
	for (std::uint32_t i = 0; i < 3; i++)
		threads.emplace_back(work, i);
	for (std::thread &thread : threads)
		thread.join();
	return 0;
}
