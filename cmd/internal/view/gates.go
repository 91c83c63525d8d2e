package view

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"anvilsweep/recipe"
	"anvilsweep/sweep"
	"anvilsweep/sweep/metrics"
)

// verdicts are what gates say, for people.
var verdicts = map[recipe.Verdict]string{recipe.Yes: "holds", recipe.No: "does not hold", recipe.Undecided: "undecided"}

// Gates prints a table of gates and cells, those that do not hold first.
func Gates(w io.Writer, results []sweep.GateResult, markdown bool) error {
	g := Grid{Header: []string{"gate", "verdict", "cell", "rule", "figures"}, Names: 5}
	counts := map[recipe.Verdict]int{}
	for _, want := range []recipe.Verdict{recipe.No, recipe.Undecided, recipe.Yes} {
		for _, r := range results {
			if r.Verdict == want {
				counts[want]++
				g.Rows = append(g.Rows, []string{r.Gate, verdicts[want], r.Cell, r.Text, figuresOf(r)})
			}
		}
	}
	if len(results) == 0 {
		fmt.Fprintln(w, "The recipe has no gate for a cell that is in the folder.")
		return nil
	}
	if err := g.Write(w, markdown); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d of %d gate checks held, %d did not, %d could not be decided.\n", counts[recipe.Yes], len(results), counts[recipe.No], counts[recipe.Undecided])
	return nil
}

func figuresOf(r sweep.GateResult) string {
	var out []string
	for _, f := range r.Figures {
		text := "—"
		if f.Value != nil {
			text = metrics.Human(*f.Value)
		}
		out = append(out, f.Name+" "+text)
	}
	return strings.Join(out, ", ")
}

// junit is the part of JUnit's XML that CI systems read.
type junit struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitReason `xml:"failure"`
	Skipped *junitReason `xml:"skipped"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
}

// JUnit is the gates as a test suite: a case a gate and cell, undecided ones
// skipped.
func JUnit(results []sweep.GateResult) ([]byte, error) {
	suite := junit{Name: "anvilsweep gates", Tests: len(results)}
	for _, r := range results {
		c := junitCase{Class: r.Sweep + "." + r.Gate, Name: r.Cell}
		switch r.Verdict {
		case recipe.No:
			suite.Failures++
			c.Failure = &junitReason{r.Text + " does not hold: " + figuresOf(r)}
		case recipe.Undecided:
			suite.Skipped++
			c.Skipped = &junitReason{r.Text + " cannot be decided: " + figuresOf(r)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
