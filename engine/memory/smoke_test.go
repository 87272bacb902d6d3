package memory

import "testing"

func TestPatchSmoke(t *testing.T) {
	got, changed, err := Patch(PatchMerge, []byte(`{"a":1,"b":{"c":12345678901234567890}}`), []byte(`{"b":{"d":null,"e":2},"a":null}`))
	if err != nil || !changed || string(got) != `{"a":1,"b":{"c":12345678901234567890,"e":2}}` {
		t.Fatal(string(got), changed, err)
	}
}
