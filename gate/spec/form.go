package spec

import (
	"strings"
)

// local returns the path in a value of that form, and whether there is one on this machine.
func local(f form, value string) (string, bool) {
	switch f {
	case formAt:
		path, ok := strings.CutPrefix(value, "@")
		return path, ok
	case formKVAt:
		_, v, ok := strings.Cut(value, "=")
		if !ok || v == "" || v[0] != '@' && v[0] != '<' {
			return "", false
		}
		path, _, _ := strings.Cut(v[1:], ";") // curl -F f=@path;type=…
		return path, true
	case formKV:
		if _, path, ok := strings.Cut(value, "="); ok {
			return path, true
		}
		return value, true
	case formRemote:
		return value, !isRemote(value)
	case formVolume:
		source, _, _ := strings.Cut(value, ":")
		return source, strings.HasPrefix(source, "/") || strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~")
	case formMount:
		bind := false
		path := ""
		for field := range strings.SplitSeq(value, ",") {
			k, v, _ := strings.Cut(field, "=")
			switch k {
			case "type":
				bind = v == "bind"
			case "source", "src":
				path = v
			}
		}
		return path, path != "" && (bind || strings.HasPrefix(path, "/"))
	case formRevPath:
		_, path, ok := strings.Cut(value, ":")
		return path, ok && path != ""
	case formSocket:
		path, ok := strings.CutPrefix(value, "unix:")
		if ok && strings.HasPrefix(path, "//") {
			path = path[2:]
		}
		return path, ok || strings.HasPrefix(value, "/")
	default:
		return value, true
	}
}
