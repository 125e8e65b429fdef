/* SPDX-License-Identifier: BSD-2-Clause */
/* Member functions, strings, base classes, references and an exception. Each call writes its values as a line of JSON. */
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline, used, visibility("default")))

namespace shop
{
enum class kind : short { small = -1, large = 3 };
struct base {
	int id;
};
struct item : base {
	std::string name;
	double price;
	kind k;
};
int sold = 4;

class counter
{
      public:
	int total = 0;
	int add(const item &i, unsigned char n, bool twice);
	std::string label(std::string_view prefix, const std::string &name);
};

static void begin(const char *event)
{
	printf("{\"tid\": %ld, \"event\": \"shop::counter::%s\", ", static_cast<long>(syscall(SYS_gettid)), event);
}

NOT_INLINED int counter::add(const item &i, unsigned char n, bool twice)
{
	begin("add");
	printf("\"i.name\": \"%s\", \"i.id\": %d, \"i.k\": \"%s\", \"i.price\": %g, \"n\": %u, \"twice\": %s, "
	       "\"this->total\": %d, \"shop::sold\": %d}\n",
	       i.name.c_str(), i.id, i.k == kind::small ? "small" : "large", i.price, n, twice ? "true" : "false",
	       total, sold);
	sold++;
	total += n * (twice ? 2 : 1) + i.id;
	if (n == 9)
		throw std::runtime_error("nine");
	begin("add/return");
	printf("\"$return\": %d}\n", total);
	return total;
}

NOT_INLINED std::string counter::label(std::string_view prefix, const std::string &name)
{
	begin("label");
	printf("\"prefix\": \"%.*s\", \"name\": \"%s\"}\n", static_cast<int>(prefix.size()), prefix.data(),
	       name.c_str());

	std::string result = std::string(prefix) + ":" + name;

	begin("label/return");
	printf("\"$return\": \"%s\"}\n", result.c_str());
	return result;
}
} // namespace shop

int main()
{
	shop::counter counter;
	shop::item item{{7}, "teapot with a long name, longer than a short string", 2.5, shop::kind::small};

	counter.add(item, 1, true);
	item.name = "cup";
	item.k = shop::kind::large;
	counter.add(item, 2, false);
	try {
		counter.add(item, 9, true);
	} catch (const std::exception &) {
		counter.add(item, 3, false);
	}
	counter.label("pre", "short");
	counter.label("a prefix", item.name + " and more than sixteen characters");
	return 0;
}
