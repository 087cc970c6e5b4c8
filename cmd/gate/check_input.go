package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gatehouse/gate"
)

// lines judges each line of standard input. What only looks like one, a comment or nothing, is skipped.
func (c *checker) lines(ctx context.Context) error {
	in := bufio.NewReaderSize(c.g.streams.In, 1<<16)
	var readErr error
	err := c.requests(ctx, func(yield func(gate.Request) bool) {
		for {
			text, err := in.ReadString('\n')
			if err != nil && err != io.EOF {
				readErr = fmt.Errorf("standard input: %w", err)
				return
			}
			line := strings.TrimRight(text, "\r\n")
			if !skipped(line) && !yield(gate.Request{Line: line}) || err == io.EOF {
				return
			}
		}
	})
	return errors.Join(err, readErr)
}

func skipped(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// A checkRequest is one line of --jsonl.
type checkRequest struct {
	Line    *string   `json:"line"`
	Argv    []string  `json:"argv"`
	Tool    *toolJSON `json:"tool"`
	Cwd     string    `json:"cwd"`
	Session string    `json:"session"`
}

type toolJSON struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// request returns what is to be judged, or what is wrong with the object.
func (r *checkRequest) request() (gate.Request, error) {
	req := gate.Request{Cwd: r.Cwd, Session: r.Session}
	kinds := 0
	if r.Line != nil {
		req.Line = *r.Line
		kinds++
	}
	if r.Argv != nil {
		req.Argv = r.Argv
		kinds++
	}
	if r.Tool != nil {
		req.Tool = &gate.Tool{Name: r.Tool.Name, Args: r.Tool.Args}
		kinds++
	}
	switch {
	case kinds != 1:
		return req, errors.New(`it needs "line", or one of "argv" and "tool" in its place`)
	case r.Argv != nil && len(r.Argv) == 0:
		return req, errors.New(`"argv" has no words`)
	case r.Cwd != "" && !filepath.IsAbs(r.Cwd):
		return req, fmt.Errorf(`"cwd" %q is no absolute path`, r.Cwd)
	}
	if r.Cwd != "" {
		req.Cwd = filepath.Clean(r.Cwd)
	}
	return req, nil
}

// objects answers each object of standard input before it waits for the next one.
func (c *checker) objects(ctx context.Context) error {
	in := bufio.NewReaderSize(c.g.streams.In, 1<<16)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("standard input: %w", err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			if err := c.object(ctx, text); err != nil {
				return fmt.Errorf("standard input, line %d: %w", number, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if in.Buffered() == 0 {
			if err := c.out.Flush(); err != nil {
				return err
			}
		}
	}
}

func (c *checker) object(ctx context.Context, text []byte) error {
	var object checkRequest
	if err := json.Unmarshal(text, &object); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("%q cannot be a %s", wrong.Field, wrong.Value)
		}
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	request, err := object.request()
	if err != nil {
		return err
	}
	r, d, err := c.judge(ctx, request)
	if err != nil {
		return err
	}
	if c.gate.Problem() != nil {
		c.count(d)
	}
	return writeLine(c.out, checked(r, d))
}
