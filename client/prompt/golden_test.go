package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// contractVectors are the vectors that come with the artifact contract, which
// lies beside a checkout of the project and is not part of it.
const contractVectors = "../../../shared/contract/golden.json"

type promptVector struct {
	SharedPrefix int    `json:"shared_prefix_tokens"`
	Context      int    `json:"ctx"`
	Index        int    `json:"index"`
	Cap          *int   `json:"cap"`
	Marker       string `json:"marker"`
	Words        int    `json:"response_words"`
	Unique       bool   `json:"unique"`
	SHA256       string `json:"sha256"`
	Chars        int    `json:"chars"`
}

// Some of the contract's vectors, so that the rule is held in a checkout that
// has no contract beside it.
var vectors = []promptVector{
	{Context: 4096, Index: 0, SHA256: "e3b70456eb65868e323771562466cd399682ad1dbb795259228e0614cbb51acc", Chars: 12288},
	{Context: 4096, Index: 2, SHA256: "df16820b1884ab5fa9d528ff4326c25c9876462ed7842306ef11e25fb98e1351", Chars: 12288},
	{Context: 380000, Index: 1, SHA256: "d315e48aade36227f24b713011c78eb62ec19c3139333de7fded8dace0ee4e55", Chars: 1140000},
	{SharedPrefix: 8000, Context: 8192, Index: 3, SHA256: "bab08986fe511c264b93cc87a017cff891c3f368db1c7ed7ab3592d0fb6dfeb8", Chars: 24576},
	{Context: 8192, Index: 0, Marker: "ANVIL_REQ_0_00000", Words: 64, Unique: true, SHA256: "62b66063630ae37b4e2d78a3cfd1ba0ba82bfc9c9ec8460056d4fa2654f8e096", Chars: 24576},
	{Context: 4096, Index: 9, Marker: "ANVIL_REQ_29_00009", Unique: true, SHA256: "755a87efd02e716ab73fd917878cb3d86c0403cbab5a101f11bb840fd8a02878", Chars: 12288},
	{Context: 4096, Index: 2, Words: 16, Unique: true, SHA256: "e0f27651ac10ddb4de617a7e7bad8bed2ae35c62fd9bcc6620f3ff66820309b3", Chars: 12288},
	{SharedPrefix: 8000, Context: 4096, Index: 1, Marker: "ANVIL_REQ_0_00001", Words: 8, SHA256: "b4e0a53cb44def4c35c1a797f4dd143161eaa28bca25c42b8f87f4401e840b2c", Chars: 12288},
	{Context: 64, Index: 1, Unique: true, SHA256: "9eff6d47b30bb88380b40d5fc505851ba3b0e030a322cf31187f7733244b452b", Chars: 192},
}

func (v promptVector) check(t *testing.T) {
	t.Helper()
	context := v.Context
	if v.Cap != nil {
		context = min(context, *v.Cap)
	}
	w := Workload{Unique: v.Unique, SharedPrefixTokens: v.SharedPrefix, Words: v.Words, Canaries: v.Marker != ""}
	if v.Marker != "" {
		w.Seed = seedOf(t, v.Marker)
	}
	got, err := w.Build(v.Index, context, 0)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(got))
	if len(got) != v.Chars || hex.EncodeToString(sum[:]) != v.SHA256 {
		t.Errorf("%+v: %d characters, SHA-256 %x", v, len(got), sum)
	}
}

func seedOf(t *testing.T, marker string) int64 {
	for seed := range int64(5000) {
		if marker[:len(marker)-6] == Marker(seed, 0)[:len(Marker(seed, 0))-6] {
			return seed
		}
	}
	t.Fatalf("no small seed makes %s", marker)
	return 0
}

func TestPromptVectors(t *testing.T) {
	for _, v := range vectors {
		v.check(t)
	}
}

func TestContractVectors(t *testing.T) {
	data, err := os.ReadFile(contractVectors)
	if err != nil {
		t.Skip("the contract's vectors are not beside this checkout: ", err)
	}
	var golden struct {
		Published []promptVector `json:"published_prompt_sha256_from_upstream_evidence"`
		Derived   []promptVector `json:"derived_prompt_vectors_current_wording"`
		Sampling  []struct {
			Seed     int64     `json:"seed"`
			First    []float64 `json:"first_random"`
			Contexts []int     `json:"contexts"`
		} `json:"context_sampling"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Published) != 12 || len(golden.Derived) != 8 || len(golden.Sampling) != 7 {
		t.Fatalf("%d, %d and %d vectors", len(golden.Published), len(golden.Derived), len(golden.Sampling))
	}
	for _, v := range append(golden.Published, golden.Derived...) {
		v.check(t)
	}
	for _, v := range golden.Sampling {
		random := newTwister(v.Seed)
		for i, want := range v.First {
			if got := random.float(); got != want {
				t.Errorf("seed %d, draw %d: %v, want %v", v.Seed, i, got, want)
			}
		}
		if got := SampleContexts(v.Seed, len(v.Contexts)); !slices.Equal(got, v.Contexts) {
			t.Errorf("seed %d: %v, want %v", v.Seed, got, v.Contexts)
		}
	}
}
