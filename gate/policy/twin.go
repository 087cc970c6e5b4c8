package policy

import (
	"slices"

	"gatehouse/gate/call"
)

// twin is the other way in which a program takes the same command, so that an entry of deny holds for both; nil if there is
// none: docker rm is docker container rm, docker rmi is docker image rm, and docker compose is a program of its own too.
func twin(c *call.Call) *call.Call {
	program := c.Form.Path[0]
	switch program {
	case "docker-compose":
		return said(c, 0, "docker", "compose")
	case "docker", "podman":
	default:
		return nil
	}
	var words [2]string
	n := 0
	for i := range c.Form.Parts {
		if part := &c.Form.Parts[i]; n < len(words) && (part.Role == call.Subcommand || part.Role == call.Operand) {
			words[n] = part.Value
			n++
		}
	}
	switch first, second := words[0], words[1]; {
	case first == "compose" && program == "docker":
		return said(c, 1, "docker-compose")
	case first == "ps":
		return said(c, 1, program, "container", "ls")
	case first == "rmi":
		return said(c, 1, program, "image", "rm")
	case first == "images":
		return said(c, 1, program, "image", "ls")
	case first == "container" && slices.Contains([]string{"ls", "list", "ps"}, second):
		return said(c, 2, program, "ps")
	case first == "image" && slices.Contains([]string{"rm", "remove"}, second):
		return said(c, 2, program, "rmi")
	case first == "image" && slices.Contains([]string{"ls", "list"}, second):
		return said(c, 2, program, "images")
	case first == "container", first == "image":
		return said(c, 1, program)
	case slices.Contains([]string{"build", "history", "import", "load", "pull", "push", "save", "tag"}, first):
		return said(c, 0, program, "image")
	case slices.Contains([]string{"attach", "commit", "cp", "create", "diff", "exec", "export", "kill", "logs", "pause", "port", "rename", "restart", "rm",
		"run", "start", "stats", "stop", "top", "unpause", "update", "wait"}, first):
		return said(c, 0, program, "container")
	}
	return nil
}

// said returns c with the first words of the command, of which there are drop, replaced.
func said(c *call.Call, drop int, program string, words ...string) *call.Call {
	form := call.Form{Path: append([]string{program}, words...), Lost: c.Form.Lost, More: c.Form.More}
	for i, word := range words {
		form.Parts = append(form.Parts, call.Part{Role: call.Subcommand, Value: word, Level: i + 1})
	}
	gone, levels := 0, 0
	for _, part := range c.Form.Parts {
		if gone < drop && (part.Role == call.Subcommand || part.Role == call.Operand) {
			gone++
			if part.Role == call.Subcommand {
				levels++
			}
			continue
		}
		if part.Level > 0 {
			part.Level = max(0, part.Level+len(words)-levels)
		}
		form.Parts = append(form.Parts, part)
	}
	form.Path = append(form.Path, c.Form.Path[min(len(c.Form.Path), 1+levels):]...)
	return &call.Call{Name: c.Name, Argv: c.Argv, Meta: c.Meta, Form: &form, Elsewhere: c.Elsewhere}
}
