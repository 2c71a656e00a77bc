package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// What a README shows of each part: what somebody who decides, or is on call, asks for. The rest is in the report.

// quote is the body of a part: tables, each below its how, and one line about how all was made. Those behind the first
// folds are folded away.
func quote(made string, folds int, tables ...*table) string {
	var b bytes.Buffer
	for i, t := range tables {
		if i == folds {
			fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n", t.title)
		}
		if t.how != "" {
			fmt.Fprintf(&b, "%s\n\n", t.how)
		}
		t.grid(&b)
		fmt.Fprintln(&b)
	}
	if folds < len(tables) {
		fmt.Fprint(&b, "</details>\n\n")
	}
	b.WriteString(made)
	return b.String()
}

// madeBy is the line that says how a part was made.
func madeBy(s settings, rest string) string {
	command := "go -C integration/bench run ."
	if s.quick {
		command += " -quick"
	}
	return fmt.Sprintf("<sub>Made by `%s -readme ../../README.md` on %d cores with %s, %s. %s</sub>", command, runtime.NumCPU(), runtime.Version(), versions(), rest)
}

// more is how many more one has than the other: "+1,234".
func more(v, base float64) string {
	text := signed(int(v - base))
	if digits := strings.TrimLeft(text, "+−"); len(digits) > 3 {
		n, _ := strconv.Atoi(digits) // it was a number
		text = strings.TrimSuffix(text, digits) + grouped(n)
	}
	return text
}

// quoteHealthy shows the costs, one column for each contender.
func quoteHealthy(s settings, list [][]cost, perByte float64) string {
	t := &table{columns: []string{"a healthy", plain.name, oursOff.name, ours.name + ", armed", failsafe1.name, hedged.name}}
	var noise []string
	for i, op := range operations {
		all := list[i]
		base, rivals := all[0], all[1:len(all)-1]
		noise = append(noise, times(all[len(all)-1].ratio))
		cpu := []string{"`" + op + "`: CPU time", fmt.Sprintf("%.1f µs", base.cpu/1000)}
		objects, size := []string{"allocations", whole(base.objects)}, []string{"bytes", grouped(int(base.bytes))}
		for _, c := range rivals {
			cpu, objects, size = append(cpu, times(c.ratio)), append(objects, more(c.objects, base.objects)), append(size, more(c.bytes, base.bytes))
		}
		t.add(cpu...)
		t.add(objects...)
		t.add(size...)
	}
	promised := costPromises(list[0])
	word := func(p promise) string {
		if p.kept {
			return "kept"
		}
		return "not kept yet"
	}
	return quote(madeBy(s, fmt.Sprintf("The transport is in memory and answers at once, so that nothing but the client is left. CPU time is without the garbage collector's; "+
		"with %.2f ns for each byte, as measured in the same run, `ReadItem` is at %s with hedging off and %s with it armed. "+
		"Promised are at most %s (%s) and %s (%s). Plain azcosmos set beside itself, the noise: %s.",
		perByte, times(list[0][1].whole), times(list[0][2].whole), times(1+overOff), word(promised[0]), times(1+overArmed), word(promised[1]), strings.Join(noise, ", "))), 1, t)
}

// quoteScale shows the table of scale as it is.
func quoteScale(s settings, t *table) string {
	shown := &table{title: "ReadItem against the number of partitions, of regions and of breaker records", columns: t.columns, rows: t.rows}
	return quote(madeBy(s, "CPU time of a `ReadItem` at random among the partitions, without the garbage collector's; "+
		"with breaker records, the first region of each partition that is read is open, so that the second one is asked."), 0, shown)
}

// quoteCores leaves out of the table of cores what only tells why.
func quoteCores(s settings, t *table) string {
	shown := &table{title: "Throughput of ReadItem on 1 and 2 cores", columns: leave(t.columns, cpuColumn)}
	for _, row := range t.rows {
		shown.add(leave(row, cpuColumn)...)
	}
	return quote(madeBy(s, fmt.Sprintf("%d goroutines over the transport in memory, medians of ratios of the time that passed; reads a second belong to the machine.", readers)), 0, shown)
}

// leave is a row without one of its cells.
func leave(row []string, column int) []string {
	return append(append([]string(nil), row[:column]...), row[column+1:]...)
}

// quoteVirtual shows the scenarios: what matters most, and folded away what the answers took and how many requests were sent.
func quoteVirtual(s settings, l load, blocks []block) string {
	took := scenarioGrid(blocks, func(o outcome) string { return millis(o.p50) + " / " + millis(o.p99) + " / " + millis(o.p999) })
	took.title = "p50, p99 and p99.9, and extra requests"
	took.how = "p50 / p99 / p99.9 in milliseconds, failures included:"
	extra := scenarioGrid(blocks, func(o outcome) string { return more(float64(o.extra), 0) })
	extra.how = "Requests beyond one for each call, refused ones among them; negative when calls failed without being sent:"
	return quote(madeBy(s, loadWords(l)+" "+virtualWords+" "+promiseWords(blocks, 0)), 1, firstGrid(blocks), took, extra)
}

// quoteLoopback shows the scenarios over real sockets, folded away.
func quoteLoopback(s settings, l load, blocks []block) string {
	t := firstGrid(blocks)
	t.title = "The same over real sockets: HTTP/2 over TLS, on loopback"
	return quote(madeBy(s, loadWords(l)+" All contenders of a scenario at once. "+promiseWords(blocks, wireSlack)), 0, t)
}

func loadWords(l load) string {
	return fmt.Sprintf("%s requests in each cell, %d a second, each with a deadline of %v; %v to the first region and %v to the others; hedging after %v.",
		grouped(int(l.span.Seconds()*float64(l.rate))), l.rate, deadline, nearby, distant, threshold)
}

// virtualWords say what can be repeated: two runs differ where contenders draw their pauses.
const virtualWords = "Virtual time: no machine is late. Between two runs only that differs which contenders leave to chance: " +
	"azcore and failsafe-go wait for random times between retries, so that those who wait have another time to the first success in each run."

// promiseWords says whether ours loses nothing and is in time everywhere, and where not.
func promiseWords(blocks []block, slack time.Duration) string {
	var broken []string
	for _, b := range blocks {
		if !kept(scenarioPromises("", []block{b}, slack)) {
			broken = append(broken, b.row)
		}
	}
	if len(broken) > 0 {
		return "What " + ours.name + " promises is not kept yet where " + strings.Join(broken, "; ") + "."
	}
	late := ""
	if slack > 0 {
		late = fmt.Sprintf(" A machine may be late by %v.", slack)
	}
	return "Everywhere " + ours.name + " keeps what it promises: nothing lost, and the first success after one extra round trip at most; " +
		"on top of that come the threshold where the first region never answers, the read of the account where the write region has moved, " +
		"and up to a second until that read where it is lost." + late
}

// firstGrid shows the time to the first success, and the requests lost.
func firstGrid(blocks []block) *table {
	return scenarioGrid(blocks, func(o outcome) string {
		text := "never"
		if o.first >= 0 {
			text = strings.Replace(short(o.first), ".0 ms", " ms", 1)
		}
		if o.lost > 0 {
			text += ", **" + grouped(o.lost) + " lost**"
		}
		return text
	})
}

// scenarioGrid has a row for each scenario and a column for each contender.
func scenarioGrid(blocks []block, show func(outcome) string) *table {
	t := &table{columns: []string{"what happens"}}
	for _, c := range rivals {
		t.columns = append(t.columns, c.name)
	}
	for _, b := range blocks {
		row := []string{b.row}
		for _, c := range rivals {
			text := "not run"
			for _, o := range b.outcomes {
				if o.contender == c.name {
					text = show(o)
				}
			}
			row = append(row, text)
		}
		t.add(row...)
	}
	return t
}

// millis is a time in milliseconds, with a decimal below ten that is not zero.
func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 9.95 {
		return strings.TrimSuffix(strconv.FormatFloat(ms, 'f', 1, 64), ".0")
	}
	return grouped(int(ms + 0.5))
}
