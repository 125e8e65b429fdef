// SPDX-License-Identifier: BSD-2-Clause

// Goroutines on threads of their own, signals, faults that become panics, and a child process. Each function of this package
// executes the same instructions in each run: it does not test for preemption (nosplit), and no goroutine changes its thread. Run it
// with GOMAXPROCS=1, GOGC=off and GODEBUG=asyncpreemptoff=1. With the argument "child" it is its own child; "alone" makes no
// child.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

//go:nosplit
func init() {
	runtime.LockOSThread()
}

//go:noinline
//go:nosplit
func collatz(value int) int {
	steps := 0
	for ; value != 1; steps++ {
		if value%2 == 1 {
			value = 3*value + 1
		} else {
			value /= 2
		}
	}
	return steps
}

//go:noinline
//go:nosplit
func worker(number int, results chan int) {
	runtime.LockOSThread()
	results <- collatz(number + 26)
}

//go:noinline
//go:nosplit
func recovered(caught *string) {
	*caught = fmt.Sprint(recover())
}

//go:noinline
//go:nosplit
func fault(address *int) (caught string) {
	defer recovered(&caught)
	*address = 1
	return "nothing"
}

//go:noinline
//go:nosplit
func signals() int {
	arrived := make(chan os.Signal, 8)
	signal.Notify(arrived, syscall.SIGUSR1, syscall.SIGUSR2)
	count := 0
	for i := 0; i < 3; i++ {
		syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
		<-arrived
		count++
		syscall.Kill(syscall.Getpid(), syscall.SIGUSR2)
		<-arrived
		count++
	}
	return count
}

//go:noinline
//go:nosplit
func child() int {
	command := exec.Command(os.Args[0], "child")
	command.Stdout = os.Stdout
	if command.Run() == nil {
		return -1
	}
	return command.ProcessState.ExitCode()
}

//go:nosplit
func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		fmt.Println("child", collatz(97))
		os.Exit(3)
	}
	results := make(chan int)
	sum := 0
	for i := 1; i <= 3; i++ {
		go worker(i, results)
		sum += <-results
	}
	fmt.Println("turns", sum, fault(nil), signals())
	if len(os.Args) == 1 {
		fmt.Println("ended", child())
	}
}
