//! The generator of the crawler's manual page and shell completions.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

/// Writes `man/crawl.1`, and a file for each shell to `completions`, below
/// `target`. Both are generated from the definition of the command line.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write(target: &Path) -> io::Result<bool> {
    let man = target.join("man");
    fs::create_dir_all(&man)?;
    let page = man.join("crawl.1");
    fs::write(&page, manual(cli::tool_command())?)?;
    println!("{}", page.display());

    let completions = target.join("completions");
    fs::create_dir_all(&completions)?;
    for &shell in Shell::value_variants() {
        let mut command = cli::tool_command();
        let file = clap_complete::generate_to(shell, &mut command, "crawl", &completions)?;
        println!("{}", file.display());
    }
    Ok(true)
}

fn manual(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn every_flag_is_in_the_manual_and_completed() {
        let target = env::temp_dir().join(format!("xtask-man-{}", std::process::id()));
        assert!(write(&target).unwrap());
        let read = |path: &str| fs::read_to_string(target.join(path)).unwrap();
        let manual = read("man/crawl.1").replace('\\', "");
        let bash = read("completions/crawl.bash");
        let fish = read("completions/crawl.fish");
        let zsh = read("completions/_crawl");
        let command = cli::tool_command();
        let flags: Vec<_> = command.get_arguments().filter_map(|a| a.get_long()).collect();
        assert!(flags.len() > 20 && flags.contains(&"state"), "{flags:?}");
        for flag in flags {
            assert!(manual.contains(&format!("--{flag}")), "{flag}: {manual}");
            assert!(bash.contains(&format!("--{flag}")), "{flag}");
            assert!(fish.contains(&format!("-l {flag}")), "{flag}");
            assert!(zsh.contains(&format!("--{flag}")), "{flag}");
        }
        assert!(manual.contains(".TH crawl 1") && manual.contains("Exit codes:"), "{manual}");
        fs::remove_dir_all(&target).unwrap();
    }
}
