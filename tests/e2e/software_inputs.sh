# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests that run the commands of software_commands.txt: makes the commands' input files in $IN.
# shellcheck shell=sh
make_inputs() {
	make_text "$IN/text" 300000
	gzip -n -k "$IN/text"
	cat >"$IN/program.c" <<-'END'
		#include <math.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
		static unsigned collatz(unsigned long n) { unsigned s = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; s++; } return s; }
		int main(void)
		{
			int *v = malloc(5000 * sizeof(int)), sum = 0;
			for (int i = 0; i < 5000; i++) v[i] = (int)((i * 7919u) % 5003u);
			qsort(v, 5000, sizeof(int), compare);
			for (int i = 1; i < 5000; i++) sum += (int)collatz((unsigned long)i) ^ v[i];
			char *s = strdup("text"); puts(s); free(s); free(v);
			switch (sum % 7) { case 0: puts("a"); break; case 1: puts("b"); break; case 2: puts("c"); break; case 3: puts("d"); break;
			case 4: puts("e"); break; default: puts("f"); }
			printf("%d %.3f\n", sum, (double)sum / 3);
			return 0;
		}
	END
	cat >"$IN/program.cpp" <<-'END'
		#include <iostream>
		#include <map>
		#include <stdexcept>
		#include <string>
		#include <csignal>
		#include <csetjmp>
		#include <cstdlib>
		struct noisy { ~noisy() { count++; } static int count; };
		int noisy::count;
		static void deep(int n) { noisy here; if (!n) throw std::runtime_error("deep"); deep(n - 1); }
		static void fault(int) { throw 42; }
		int main()
		{
			std::map<std::string, int> words;
			for (int i = 0; i < 300; i++) try { deep(i % 40); } catch (const std::exception &e) { words[e.what()]++; }
			std::signal(SIGSEGV, fault);
			int caught = 0;
			for (int i = 0; i < 3; i++) {
				try { *(volatile int *)8 = 1; } catch (int n) { caught += n; }
				sigset_t set; sigemptyset(&set); sigaddset(&set, SIGSEGV); sigprocmask(SIG_UNBLOCK, &set, nullptr);
			}
			std::cout << words["deep"] << ' ' << noisy::count << ' ' << caught << std::endl;
			try { std::string(5, 'x').at(9); } catch (const std::out_of_range &) { std::cout << "range" << std::endl; }
		}
	END
	sed -i 's/^int main()$/#pragma GCC optimize("non-call-exceptions")\n&/' "$IN/program.cpp"
	cat >"$IN/threads.c" <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static int sum;
		static void *add(void *p) { for (int i = 0; i < 1000; i++) { pthread_mutex_lock(&lock); sum++; pthread_mutex_unlock(&lock); } return p; }
		int main(void)
		{
			pthread_t t[4];
			for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, add, 0);
			for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
			printf("%d\n", sum);
			return 0;
		}
	END
	sed -e '/static int sum/s/int/volatile int/' -e 's/pthread_mutex_[un]*lock(&lock);//g' -e 's/printf.*/return 0;/' "$IN/threads.c" >"$IN/race.c"
	cat >"$IN/loop.js" <<-'END'
		let s = 0;
		function f(x) { return x % 7 + (x & 3 ? 1 : 2); }
		for (let i = 0; i < 3e6; i++) s += f(i);
		const m = new Map();
		for (let i = 0; i < 2e4; i++) m.set('k' + i % 97, (m.get('k' + i % 97) || 0) + i);
		try { null.x; } catch (e) { s += e instanceof TypeError; }
		setTimeout(() => console.log(s, [...m.values()].reduce((a, b) => a + b), /(\w+)\s\1/.test('a b b c')), 5);
	END
	cat >"$IN/Loop.java" <<-'END'
		public class Loop {
			static int f(int x) { return x % 7 + (x & 3); }
			public static void main(String[] a) throws Exception {
				long s = 0;
				for (int i = 0; i < 20000000; i++) s += f(i);
				int caught = 0;
				for (int i = 0; i < 20000; i++) try { Object o = i % 2 == 0 ? null : "x"; o.hashCode(); } catch (NullPointerException e) { caught++; }
				Thread[] t = new Thread[4];
				long[] r = new long[4];
				for (int i = 0; i < 4; i++) { int j = i; t[i] = new Thread(() -> { for (int k = 0; k < 100000; k++) r[j] += ("" + k).length(); }); t[i].start(); }
				for (Thread x : t) x.join();
				System.gc();
				System.out.println(s + " " + caught + " " + r[0] + " " + r[3]);
			}
		}
	END
}
