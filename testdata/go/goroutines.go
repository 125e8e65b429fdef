// SPDX-License-Identifier: BSD-2-Clause

// Goroutines that take turns on one thread, panics that are recovered, and deferred calls; each logs its calls. Run it with
// GOMAXPROCS=1, GOGC=off and GODEBUG=asyncpreemptoff=1, so that nothing else takes turns.
package main

import (
	"fmt"
	"os"
)

type call struct {
	goroutine, depth int
	name             string
}

var calls = make([]call, 0, 10000)

//go:noinline
func enter(goroutine, depth int, name string) {
	calls = append(calls, call{goroutine, depth, name})
}

//go:noinline
func leaf(goroutine, depth, n int) int {
	enter(goroutine, depth, "main.leaf")
	return n * 3
}

//go:noinline
func square(goroutine, depth, n int) int {
	enter(goroutine, depth, "main.square")
	return leaf(goroutine, depth+1, n) + n*n
}

//go:noinline
func fibonacci(goroutine, depth, n int) int {
	enter(goroutine, depth, "main.fibonacci")
	if n < 2 {
		return n
	}
	return fibonacci(goroutine, depth+1, n-1) + fibonacci(goroutine, depth+1, n-2)
}

// Needs more stack than a goroutine begins with.
//
//go:noinline
func deep(goroutine, depth, n int) int {
	var room [512]byte

	enter(goroutine, depth, "main.deep")
	room[n] = byte(n)
	if n == 0 {
		return leaf(goroutine, depth+1, n)
	}
	return deep(goroutine, depth+1, n-1) + int(room[n])
}

//go:noinline
func worker(goroutine int, in, out chan int) {
	enter(goroutine, 0, "main.worker")
	for n := range in {
		out <- square(goroutine, 1, n) + deep(goroutine, 1, n)
	}
	close(out)
}

//go:noinline
func fails(goroutine, depth, n int) int {
	enter(goroutine, depth, "main.fails")
	if n%3 == 0 {
		panic("three")
	}
	return square(goroutine, depth+1, n)
}

//go:noinline
func recovers(goroutine, depth, n int) (result int) {
	enter(goroutine, depth, "main.recovers")
	defer func() {
		if recover() != nil {
			result = leaf(goroutine, depth+2, n)
		}
	}()
	return fails(goroutine, depth+1, n)
}

//go:noinline
func run() int {
	enter(1, 0, "main.run")
	sum := 0
	in, out := make(chan int), make(chan int)
	go worker(2, in, out)
	for i := 0; i < 10; i++ {
		in <- i
		sum += <-out + fibonacci(1, 1, i%5)
	}
	close(in)
	for range out {
	}
	for i := 0; i < 7; i++ {
		sum += recovers(1, 1, i)
	}
	return sum
}

func main() {
	sum := run()
	log, err := os.Create(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	for _, call := range calls {
		fmt.Fprintln(log, call.goroutine, call.depth, call.name)
	}
	fmt.Fprintln(os.Stdout, sum)
}
