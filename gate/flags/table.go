package flags

import "strings"

const borders = "│┃║|"

// untabled makes a plain line of a row of a table that is drawn with lines, as typer and rich print their options:
//
//	│ *  --name   -n      TEXT     The name │
//
// Cells with names become one list of names, and the cell after them the value, where it is one. A border becomes an
// empty line, or a heading if it has a title.
func untabled(line string) string {
	row := strings.TrimSpace(line)
	first := firstRune(row)
	switch {
	case first == 0 || !strings.ContainsRune("╭╰┌└├┏┗┡╔╚╠─━+|"+borders, first):
		return line
	case strings.Trim(row, "╭╮╰╯┌┐└┘├┤┏┓┗┛┡┩╇┬┴┼╔╗╚╝╠╣═─━+-=|: ") == "":
		return ""
	case strings.ContainsRune("╭┌┏╔", first):
		return strings.Trim(row, "╭╮┌┐┏┓╔╗═─━ ") + ":"
	case !strings.ContainsRune(borders, first):
		return line
	}
	mark := string(first)
	inner, ok := strings.CutSuffix(row[len(mark):], mark)
	if !ok || inner == "" {
		return line
	}
	inner = strings.ReplaceAll(inner, mark, "  ")
	text := strings.TrimLeft(inner, " *`")
	at := len(inner) - len(text)
	var cells []string
	for cell := range strings.SplitSeq(strings.TrimRight(text, " "), "  ") {
		if cell = strings.TrimSpace(strings.ReplaceAll(cell, "`", "")); cell != "" {
			cells = append(cells, cell)
		}
	}
	n := 0
	for n < len(cells) && atFlag(cells[n]) {
		n++
	}
	if n == 0 {
		if first == '|' {
			return line
		}
		return strings.Repeat(" ", at) + text
	}
	row = "  " + strings.Join(cells[:n], ", ")
	if n < len(cells) && isCellValue(cells[n], len(cells)-n) {
		row += " " + cells[n]
		n++
	}
	return row + "    " + strings.Join(cells[n:], "  ")
}

// isCellValue reports whether a cell behind names, the first of so many, is for their value.
func isCellValue(cell string, cells int) bool {
	if cell[0] == '[' {
		_, choices := choicesOf(strings.Trim(cell, "[]"))
		return choices
	}
	return isPlaceholder(cell) || cells > 1 && stands(cell)
}
