package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A model asks for one shell command and is done once it has heard of the outcome. It speaks as much of four interfaces
// as the clients need: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's.
type model struct {
	command string
	child   bool // a subagent is to run it, where one is offered
	url     string

	mu   sync.Mutex
	saw  string // what it was told of the call
	owed int    // how often one request said what a turn still owes
}

// object is JSON of others.
type object = map[string]any

// serve starts the model on loopback and returns how to end it.
func (m *model) serve() (stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m.url = "http://" + l.Addr().String()
	s := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // it ends when it is closed
	}()
	return func() { _ = s.Close(); <-done }, nil
}

func (m *model) told() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saw
}

func (m *model) hear(v any) {
	text, ok := v.(string)
	if !ok {
		data, _ := json.Marshal(v)
		text = string(data)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saw = text
}

// count looks for what the gate says to an agent that wants to end its turn and may not.
func (m *model) count(body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed = max(m.owed, bytes.Count(body, []byte("Before this turn ends:")))
}

func (m *model) reminders() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owed
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	m.count(body)
	var req object
	_ = json.Unmarshal(body, &req) // what is none gets the answer for a path that is not known
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		answer(w, object{"object": "list", "models": []any{}, "data": []any{object{"id": "scripted", "object": "model", "created": 0, "owned_by": "proof"}}})
	case req == nil:
		http.NotFound(w, r)
	case strings.HasSuffix(path, "/count_tokens"):
		answer(w, object{"input_tokens": 10})
	case strings.HasSuffix(path, ":countTokens"):
		answer(w, object{"totalTokens": 10})
	case strings.HasSuffix(path, "/messages"):
		m.messages(w, req)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, req)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, req)
	case strings.HasSuffix(path, "ontent") && strings.Contains(path, ":"):
		m.gemini(w, req, strings.Contains(path, ":stream"))
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// A stream is a sequence of events as all four interfaces have it.
type stream struct{ w http.ResponseWriter }

func begin(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return stream{w}
}

func (s stream) event(name string, v any) {
	data, _ := json.Marshal(v)
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
}

// shellTools are the names by which clients offer a shell.
func shellTools() []string {
	return []string{"Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "exec"}
}

// a tool that a client offers.
type offered struct {
	name   string
	schema object
	kind   string
}

// shell finds the shell among the tools of a request, and the arguments that run the command in it.
func (m *model) shell(tools []offered) (string, object, bool) {
	if m.child && slices.ContainsFunc(tools, func(t offered) bool { return t.name == "task" }) {
		return "task", object{"description": "proof", "prompt": "run it", "subagent_type": "general"}, true
	}
	for _, name := range shellTools() {
		i := slices.IndexFunc(tools, func(t offered) bool { return t.name == name })
		if i < 0 {
			continue
		}
		p, _ := tools[i].schema["properties"].(object)
		if _, ok := p["cmd"]; ok {
			return name, object{"cmd": m.command}, true
		}
		args := object{"command": m.command}
		if _, ok := p["description"]; ok {
			args["description"] = "proof"
		}
		return name, args, true
	}
	return "", nil, false
}

func items(v any) []object {
	l, _ := v.([]any)
	var list []object
	for _, e := range l {
		if o, ok := e.(object); ok {
			list = append(list, o)
		}
	}
	return list
}

func str(o object, key string) string { s, _ := o[key].(string); return s }

func (m *model) messages(w http.ResponseWriter, req object) {
	var tools []offered
	for _, t := range items(req["tools"]) {
		schema, _ := t["input_schema"].(object)
		tools = append(tools, offered{name: str(t, "name"), schema: schema})
	}
	asked := false
	for _, msg := range items(req["messages"]) {
		for _, b := range items(msg["content"]) {
			switch str(b, "type") {
			case "tool_use":
				asked = true
			case "tool_result":
				m.hear(b["content"])
			}
		}
	}
	content, why := []any{object{"type": "text", "text": "done"}}, "end_turn"
	if name, args, ok := m.shell(tools); ok && !asked {
		content, why = []any{object{"type": "tool_use", "id": "toolu_proof", "name": name, "input": args}}, "tool_use"
	}
	msg := object{"id": "msg_proof", "type": "message", "role": "assistant", "model": req["model"], "content": content, "stop_reason": why, "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
	if req["stream"] != true {
		answer(w, msg)
		return
	}
	s := begin(w)
	start := object{}
	for k, v := range msg {
		start[k] = v
	}
	start["content"], start["stop_reason"] = []any{}, nil
	s.event("message_start", object{"type": "message_start", "message": start})
	block := content[0].(object)
	if str(block, "type") == "text" {
		s.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
		s.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": block["text"]}})
	} else {
		args, _ := json.Marshal(block["input"])
		s.event("content_block_start", object{"type": "content_block_start", "index": 0,
			"content_block": object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}})
		s.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(args)}})
	}
	s.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
	s.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": why, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	s.event("message_stop", object{"type": "message_stop"})
}

func (m *model) responses(w http.ResponseWriter, req object) {
	var tools []offered
	collect := func(list []object) {
		for _, t := range list {
			schema, _ := t["parameters"].(object)
			if str(t, "type") == "namespace" {
				continue
			}
			tools = append(tools, offered{str(t, "name"), schema, str(t, "type")})
		}
	}
	collect(items(req["tools"]))
	asked := false
	for _, it := range items(req["input"]) {
		switch kind := str(it, "type"); {
		case kind == "additional_tools":
			collect(items(it["tools"]))
		case strings.HasSuffix(kind, "_call"):
			asked = true
		case strings.HasSuffix(kind, "_call_output"):
			m.hear(it["output"])
		}
	}
	item := object{"type": "message", "id": "msg_proof", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": "done", "annotations": []any{}}}}
	if name, args, ok := m.shell(tools); ok && !asked {
		text, _ := json.Marshal(args)
		item = object{"type": "function_call", "id": "fc_proof", "call_id": "call_proof", "name": name, "arguments": string(text), "status": "completed"}
		if i := slices.IndexFunc(tools, func(t offered) bool { return t.name == name }); tools[i].kind == "custom" { // it takes a script
			line, _ := json.Marshal(m.command)
			item = object{"type": "custom_tool_call", "id": "ctc_proof", "call_id": "call_proof", "name": name, "status": "completed",
				"input": "const r = await tools.exec_command({cmd: " + string(line) + "}); text(JSON.stringify(r));"}
		}
	}
	resp := object{"id": "resp_proof", "object": "response", "created_at": time.Now().Unix(), "status": "completed", "model": req["model"], "output": []any{item},
		"usage": object{"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 5,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 15}}
	if req["stream"] != true {
		answer(w, resp)
		return
	}
	s, n := begin(w), 0
	event := func(kind string, v object) {
		v["type"], v["sequence_number"] = kind, n
		n++
		s.event(kind, v)
	}
	event("response.created", object{"response": object{"id": "resp_proof", "object": "response", "status": "in_progress", "output": []any{}}})
	event("response.output_item.added", object{"output_index": 0, "item": item})
	if str(item, "type") == "message" {
		event("response.output_text.delta", object{"item_id": "msg_proof", "output_index": 0, "content_index": 0, "delta": "done"})
	}
	event("response.output_item.done", object{"output_index": 0, "item": item})
	event("response.completed", object{"response": resp})
}

func (m *model) chat(w http.ResponseWriter, req object) {
	var tools []offered
	for _, t := range items(req["tools"]) {
		f, _ := t["function"].(object)
		schema, _ := f["parameters"].(object)
		tools = append(tools, offered{name: str(f, "name"), schema: schema})
	}
	asked := false
	for _, msg := range items(req["messages"]) {
		if len(items(msg["tool_calls"])) > 0 {
			asked = true
		}
		if str(msg, "role") == "tool" {
			m.hear(msg["content"])
		}
	}
	message, why := object{"role": "assistant", "content": "done"}, "stop"
	if name, args, ok := m.shell(tools); ok && !asked {
		text, _ := json.Marshal(args)
		message, why = object{"role": "assistant", "content": nil, "tool_calls": []any{object{"index": 0, "id": "call_proof", "type": "function",
			"function": object{"name": name, "arguments": string(text)}}}}, "tool_calls"
	}
	base := func(kind string, choices ...any) object {
		return object{"id": "chatcmpl-proof", "created": time.Now().Unix(), "model": req["model"], "object": kind, "choices": append([]any{}, choices...),
			"usage": object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
	}
	if req["stream"] != true {
		answer(w, base("chat.completion", object{"index": 0, "finish_reason": why, "message": message}))
		return
	}
	s := begin(w)
	for _, choice := range []object{
		{"index": 0, "delta": message, "finish_reason": nil},
		{"index": 0, "delta": object{}, "finish_reason": why},
	} {
		chunk := base("chat.completion.chunk", choice)
		delete(chunk, "usage")
		s.event("", chunk)
	}
	s.event("", base("chat.completion.chunk"))
	fmt.Fprint(s.w, "data: [DONE]\n\n")
}

func (m *model) gemini(w http.ResponseWriter, req object, streamed bool) {
	var tools []offered
	for _, t := range items(req["tools"]) {
		for _, f := range items(t["functionDeclarations"]) {
			schema, _ := f["parametersJsonSchema"].(object)
			if schema == nil {
				schema, _ = f["parameters"].(object)
			}
			tools = append(tools, offered{name: str(f, "name"), schema: schema})
		}
	}
	asked := false
	for _, c := range items(req["contents"]) {
		for _, p := range items(c["parts"]) {
			if p["functionCall"] != nil {
				asked = true
			}
			if r, ok := p["functionResponse"].(object); ok {
				m.hear(r["response"])
			}
		}
	}
	text := "done"
	if config, _ := req["generationConfig"].(object); str(config, "responseMimeType") == "application/json" {
		text = `{"reasoning":"x","next_speaker":"user","complexity_reasoning":"x","complexity_score":1,"model_choice":"flash"}`
	}
	part := object{"text": text}
	if name, args, ok := m.shell(tools); ok && !asked {
		part = object{"functionCall": object{"id": "call_proof", "name": name, "args": args}, "thoughtSignature": "cHJvb2Y="}
	}
	out := object{"candidates": []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "scripted", "responseId": "r"}
	if !streamed {
		answer(w, out)
		return
	}
	begin(w).event("", out)
}
