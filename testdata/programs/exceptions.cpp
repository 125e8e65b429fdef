// SPDX-License-Identifier: BSD-2-Clause
// C++ exceptions: thrown through many frames with destructors, rethrown, caught by base class, thrown
// from a constructor, and through a C callback (qsort); virtual calls and std::function besides.
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

static int alive;

struct Counted {
	Counted()
	{
		alive++;
	}
	Counted(const Counted &)
	{
		alive++;
	}
	~Counted()
	{
		alive--;
	}
};

struct Failing : Counted {
	explicit Failing(int n)
	{
		if (n % 2)
			throw std::out_of_range("odd");
	}
};

static void deep(unsigned depth, int value)
{
	Counted counted;

	if (depth == 0)
		throw value;
	deep(depth - 1, value);
	__asm__ volatile("" ::: "memory"); // no tail call
}

static int rethrown(unsigned depth)
{
	try {
		if (depth == 0)
			throw std::runtime_error("bottom");
		return rethrown(depth - 1) + 1;
	} catch (const std::logic_error &) {
		return -1;
	} catch (...) {
		if (depth % 3)
			throw;
		throw std::runtime_error("new at " + std::to_string(depth));
	}
}

static int compare(const void *, const void *)
{
	throw 7;
}

struct Shape {
	virtual ~Shape() = default;
	virtual int area() const = 0;
};

struct Square : Shape {
	explicit Square(int s) : side(s)
	{
	}
	int area() const override
	{
		return side * side;
	}
	int side;
};

struct Strip : Shape {
	explicit Strip(int l) : length(l)
	{
	}
	int area() const override
	{
		return length;
	}
	int length;
};

int main()
{
	for (int i = 0; i < 100; i += 9) {
		try {
			deep(static_cast<unsigned>(i), i);
			CHECK(!"not thrown");
		} catch (int value) {
			CHECK(value == i);
		}
	}
	std::string last;
	for (unsigned i = 0; i < 30; i++) {
		try {
			rethrown(i);
		} catch (const std::exception &e) {
			last = e.what();
		}
	}
	CHECK(last == "new at 27");
	int caught = 0;
	for (int i = 0; i < 20; i++) {
		try {
			Failing failing(i);
		} catch (const std::logic_error &) {
			caught++;
		}
	}
	CHECK(caught == 10);
	try {
		int array[3] = {3, 2, 1};
		qsort(array, 3, sizeof(int), compare);
		CHECK(!"not thrown");
	} catch (int value) {
		CHECK(value == 7);
	}
	CHECK(alive == 0);

	std::vector<std::unique_ptr<Shape>> shapes;
	for (int i = 0; i < 50; i++) {
		if (i % 3)
			shapes.push_back(std::make_unique<Square>(i));
		else
			shapes.push_back(std::make_unique<Strip>(i));
	}
	int sum = 0;
	std::function<void(const Shape &)> add = [&sum](const Shape &shape) { sum += shape.area(); };
	for (const auto &shape : shapes)
		add(*shape);
	printf("exceptions %d\n", sum);
	return 0;
}
