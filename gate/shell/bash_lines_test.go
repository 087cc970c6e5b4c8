package shell

// bashLines are lines that were once read otherwise than bash reads them, each for its kind.
var bashLines = []string{
	// Brace expansion.
	`r x{},y}z`, `r {},y}z`, `r {{},y}z`, `r {a{},b}c`, `r {a{b,c}`, `r {a,b}}`, `r {a..b,c}`, `r {1..3..2}`, `r {1..3..}`, `r {1...3}`, `r {..3}`, `r {1..}`, `r {1..2}{`,
	`r {a,b`, `r a,b}`, `r {,}`, `r {,a}b{c,}`, `r {{a,b}`, `r {{a,b},{c,d}}`, `r {a\,b}`, `r {a\,b,c}`, `r {"a,b"}`, `r {"a",b}`, `r $x{a,b}`, `r {$x,b}`, `r ${x}{a,b}`, `r {a..c}{1..2}`,
	`r {+1..3}`, `r {01..3}`, `r {-01..1}`, `r {a..1}`, `r {aa..c}`, `r {3..1..-1}`, `r {1..3..0}`, `r {a..e..2}`, `r {1..2..x}`, `r {}{a,b}`, `r a{}{a,b}`, `r {{},{}}`, `r x{{},}y`,
	`r {a,b}{}`, `r {.,..}`, `r {..,.}`, `r {a..}`, `r {a...c}`, `r {$(r 1),b}`, `r {'}',b}`, `r \{a,b}`, `r {a,b\}`, `r {a,b}\}`, `r {1..3}}`, `r {{1..3},x}`, `r {x,{1..}}`,
	`r {"a,b"..c}`, `r {"a,b"...c}x`, `r {$(p a,b)..c}`, `r {"a\,b"..c}`, `r {{a,b}..c}`, `r {'a'..c}`,
	`xa=1; r $x{a,b}`, `xa=1 xb=2; r a$x{a,b}c`, `r ${x}{a,b}`, `r $1{a,b}`, `y=z; r {$,x}y`, `r {$,x}'a'`, `r {$,x}$y`, `r a{$,b}`, `r \${a,b}`, `r {~,x}/y`, `r "$x"{a,b}`, `r $x{-,b}`,
	// local assigns in a function only.
	`local x=l; r $x`, `{ local x=l; }; r $x`, `f() { local x=l; r $x; }; f; r $x`, `f() { (local x=l; r $x); r $x; }; f`, `f() { bash -c 'local x=l; r $x'; }; f`, `f() { eval 'local x=l'; r $x; }; f`,
	// What an assignment alone runs writes nothing.
	"r \"$(i=`echo a b`)\" x", `r $(i=$(echo a)) x`, `r $(i=$(nproc)) x`, `r "$(i=$(pwd))"`, `r $(i=1 echo a)`,
	// A continued line.
	"r $\\\n{z} a", "r a &\\\n& r b", "r a |\\\n| r b", "r a >\\\n>o", "r a &\\\n r b", "r a &&\\\nr b", "r a 2\\\n>o", "r $\\\n(r b)", "r <\\\n(r b)", "r a\\\nb", "r $\\\n\\\nz a", "r a |\\\nr b", "r a >&\\\n-b",
	// A descriptor is closed by the dash alone; what follows is a word.
	`r a 2>&-b`, `r 2>&-"b"`, `r >&-$x`, `r <&-b c`, `r {fd}<&-b`, `r 2>&-\\`, `r 2>&- b`, `r 2>&1- b`, `r >&\-b`, `{ r a; } 2>&-b`, `f() { r a; }; f 2>&-b`,
	// An assignment after coproc.
	`coproc x=1 r a; wait`, `coproc x+=1 r a; wait`, `coproc x[1]=1 r a; wait`, `coproc r x=1; wait`, `coproc x="y z" r; wait`, `time x=1 r a`, `! x=1 r a`,
	// What ${x:=y} makes is not exported.
	`: ${x:=c}; bash -c 'r a$x'`, `: ${x:=c}; x=2; bash -c 'r a$x'`, `export x; : ${x:=c}; bash -c 'r a$x'`, `x=; : ${x:=c}; x=2; bash -c 'r a$x'`, `: $((x=2)); bash -c 'r a$x'`,
	// A backslash at the end.
	`r a\`, `"r"\`, `bash <<< 'r a\'`, `eval 'r\'`, `bash -c '"r"\'`,
	// A glob is any number of parameters.
	`bash -c 'r "$1"' * n`, `bash -c 'r $0 "$1"' $x n`, `bash -c 'r "$1"' a * n`, `set -- *.txt z; r $1 $2 "$3"`, `f() { r "$2"; }; f *.txt z`, `set -- [x] *; shift; r $1`,
	// What braces have made is no assignment.
	`r x=a:~/b{1..3}`, `r x=~/{a,b}`, `r ~/{a,b}`, `r {~,x}/a`, `r x={~,b}`, `r x=~/{a}`, `r x=~/{a..b`,
	// Backquotes within backquotes.
	"r `r\\`p 1\\``", "r `r \\`p 1\\`x`", "r `r x\\`p 1\\``", "r `x=\\`p 1\\` r`", "r `r \\`p 1\\`\\`p 2\\``", "r \"`r x\\`p 1\\``\"",
	// Braces in a declaration.
	`export z=a.{txt,x}; r $z`, `declare z={1..2}; r $z`, `z={a,b}; r $z`, `z={a,b} env r`, `readonly z={a}; r $z`,
	// A command with an equals sign in its name.
	`:;-y=[ab].txt`, `./r=[a] b`, `-y=[a]`, `a-b=c d`, `a+=[b] r`, `a=[b] r`, `1=[a]`, `declare -y=[a]`, `export a-b=[c]`,
	// A lone plus is an option without letters.
	`bash + <<< 'r x'`, `sh + -x + <<< 'r x'`, `dash + -c 'r x'`, `bash + -c 'r x' a`, `bash + - <<< 'r x'`,
	// A glob beside what is not known can be several words.
	`r *.txt"$x"`, `r "$x"*.txt`, `r $x*.txt`, `x=$(p a); r "$x"*`, `r ${x:-a}*.txt`,
}
