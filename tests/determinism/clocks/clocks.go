// Reads the clock as Go's programs do and prints what it saw: with and without the clock page it is the same.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	start := time.Now()
	reads := 60000
	if len(os.Args) > 1 {
		reads, _ = strconv.Atoi(os.Args[1])
	}
	seen := make([]time.Time, 0, reads)
	for i := 0; i < reads; i++ {
		seen = append(seen, time.Now())
		if i%1000 == 999 {
			time.Sleep(time.Microsecond)
		}
	}
	for _, at := range seen {
		fmt.Println(at.UnixNano(), at.Sub(start).Nanoseconds())
	}
	timer := time.After(3 * time.Millisecond)
	polls := 0
	for {
		select {
		case at := <-timer:
			fmt.Println("timer", polls, at.Sub(start).Nanoseconds())
			return
		default:
			polls++
			time.Now()
		}
	}
}
