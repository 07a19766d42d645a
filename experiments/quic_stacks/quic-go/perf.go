package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// received is what came on the streams of a connection, and when the last of it did.
type received struct {
	begun       time.Time
	bytes, last atomic.Int64
}

func begin() *received { return &received{begun: time.Now()} }

func (r *received) Write(b []byte) (int, error) {
	r.bytes.Add(int64(len(b)))
	r.last.Store(int64(time.Since(r.begun)))
	return len(b), nil
}

func (r *received) say(c *quic.Conn) {
	s := c.ConnectionStats()
	fmt.Printf(`{"kind":"end","received_bytes":%d,"seconds":%g,"sent_packets":%d,"lost_packets":%d}`+"\n",
		r.bytes.Load(), time.Duration(r.last.Load()).Seconds(), s.PacketsSent, s.PacketsLost)
	time.Sleep(20 * time.Millisecond) // for the packet that closes
}

// answer sends what a stream's first eight bytes ask for, after all that came behind them.
func answer(s *quic.Stream, got *received) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(s, head); err == nil {
		io.Copy(got, s)
		send(s, binary.BigEndian.Uint64(head))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func send(s *quic.Stream, bytes uint64) { io.Copy(s, io.LimitReader(zeros{}, int64(bytes))); s.Close() }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatalln("quic-go:", err)
	}
	return value
}
