// Both ends of perf (draft-banks-quic-performance) over quic-go: ADDRESS WINDOW server CERT KEY, or … down|up BYTES.
package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"os"
	"os/signal"
	"strconv"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

func main() {
	stop, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	w := must(strconv.ParseUint(os.Args[2], 10, 64))
	conf := &quic.Config{InitialStreamReceiveWindow: w, MaxStreamReceiveWindow: w, InitialConnectionReceiveWindow: w,
		MaxConnectionReceiveWindow: w, Tracer: qlog.DefaultConnectionTracer}
	keys := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"perf"}}
	if os.Args[3] == "server" {
		keys.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(os.Args[4], os.Args[5]))}
		c := must(must(quic.ListenAddr(os.Args[1], keys, conf)).Accept(stop))
		context.AfterFunc(stop, func() { c.CloseWithError(0, "") })
		got := begin()
		for s, err := c.AcceptStream(c.Context()); err == nil; s, err = c.AcceptStream(c.Context()) {
			go answer(s, got)
		}
		got.say(c)
		<-stop.Done()
		return
	}
	got, bytes := begin(), must(strconv.ParseUint(os.Args[4], 10, 64))
	c := must(quic.DialAddr(stop, os.Args[1], keys, conf))
	s := must(c.OpenStreamSync(stop))
	context.AfterFunc(stop, func() { c.CloseWithError(0, "") })
	if os.Args[3] == "up" {
		must(s.Write(make([]byte, 8)))
		go send(s, bytes)
	} else {
		must(s.Write(binary.BigEndian.AppendUint64(nil, bytes)))
		s.Close()
	}
	n, err := io.Copy(got, s)
	if stop.Err() == nil {
		must(n, err)
	}
	c.CloseWithError(0, "")
	got.say(c)
}
