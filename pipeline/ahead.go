package pipeline

import "io"

// A large object is read ahead in pieces: hashing and decompressing it happens
// beside the decoding of what came before.
const (
	aheadPieces = 3
	aheadPiece  = 512 << 10
)

// ahead reads from another reader in a goroutine of its own, a few pieces before
// they are asked for. The errors come where they came from, behind the bytes
// before them.
type ahead struct {
	from io.Reader
	full chan piece
	free chan []byte
	quit chan struct{}
	at   piece  // being read
	rest []byte // of it
}

// piece is a part of what was read, and the error behind it.
type piece struct {
	bytes []byte
	err   error
}

// readAhead begins to read. Until Close has returned nobody else may use r.
func readAhead(r io.Reader) io.ReadCloser {
	a := &ahead{from: r, full: make(chan piece, aheadPieces), free: make(chan []byte, aheadPieces), quit: make(chan struct{})}
	for range aheadPieces {
		a.free <- nil
	}
	go a.run()
	return a
}

// run fills pieces until an error, the end, or Close.
func (a *ahead) run() {
	defer close(a.full)
	for {
		var buf []byte
		select {
		case <-a.quit:
			return
		case buf = <-a.free:
		}
		if buf == nil {
			buf = make([]byte, aheadPiece)
		}
		p := fill(a.from, buf[:cap(buf)])
		a.full <- p
		if p.err != nil {
			return
		}
	}
}

// fill reads until buf is full or an error comes.
func fill(r io.Reader, buf []byte) piece {
	n := 0
	for empty := 0; n < len(buf); {
		k, err := r.Read(buf[n:])
		n += k
		if err != nil {
			return piece{buf[:n], err}
		}
		if empty++; k > 0 {
			empty = 0
		} else if empty > 100 {
			return piece{buf[:n], io.ErrNoProgress}
		}
	}
	return piece{buf, nil}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.at.err != nil {
			return 0, a.at.err
		}
		if a.at.bytes != nil {
			a.free <- a.at.bytes
		}
		a.at = <-a.full
		a.rest = a.at.bytes
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the goroutine, and waits for it.
func (a *ahead) Close() error {
	close(a.quit)
	for range a.full {
	}
	return nil
}
