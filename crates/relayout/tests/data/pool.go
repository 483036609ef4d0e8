// Two goroutines count in neighbouring fields of one struct.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

type counters struct {
	hits   int64
	misses int64
}

type pool struct {
	mu    sync.Mutex
	jobs  []int
	stats counters
}

func main() {
	p := &pool{}
	var wg sync.WaitGroup
	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func(self int) {
			defer wg.Done()
			for n := 0; n < 400000; n++ {
				if self == 0 {
					atomic.AddInt64(&p.stats.hits, 1)
				} else {
					atomic.AddInt64(&p.stats.misses, 1)
				}
				if n%16 == 0 {
					p.mu.Lock()
					p.jobs = append(p.jobs[:0], n)
					p.mu.Unlock()
				}
			}
		}(i)
	}
	wg.Wait()
	fmt.Println(p.stats.hits, p.stats.misses)
}
