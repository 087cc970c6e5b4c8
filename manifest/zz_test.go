package manifest
import ("testing";"path/filepath";"time")
func BenchmarkOnlyPublish(b *testing.B) {
	root, _, _ := benchTree(b)
	export := filepath.Join(b.TempDir(), "export")
	p := &Publisher{Gate: "bench", Host: "bench", Source: benchSource(root), Export: export}
	for b.Loop() {
		if _, err := p.Publish(b.Context(), time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
