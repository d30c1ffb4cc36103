// Ways in which Rust code ends the process, as functions that C calls.
use std::cell::RefCell;

struct Loud;
impl Drop for Loud {
    fn drop(&mut self) {
        panic!("while {} was dropped", "Loud");
    }
}

#[inline(never)]
fn middle(way: i32, value: usize) -> usize {
    let list = vec![1usize, 2, 3];
    match way {
        0 => panic!("a literal text"),
        1 => panic!("formatted: {} of {:?}", value, list),
        2 => list[value],
        3 => "not a number".parse::<usize>().expect("a number was wanted"),
        4 => list.iter().position(|x| *x == value).unwrap(),
        5 => {
            assert_eq!(list.len(), value, "lengths differ");
            0
        }
        6 => {
            let cell = RefCell::new(value);
            let first = cell.borrow_mut();
            let second = cell.borrow_mut();
            *first + *second
        }
        7 => value / (list.len() - 3),
        8 => {
            let _loud = Loud;
            panic!("first of two, {}", value)
        }
        9 => std::panic::panic_any(value),
        10 => std::panic::panic_any(String::from("an owned text")),
        11 => {
            let caught = std::panic::catch_unwind(|| panic!("caught: {}", 42));
            if caught.is_err() {
                std::process::abort()
            }
            0
        }
        12 => std::process::abort(),
        13 => {
            std::panic::set_hook(Box::new(|_| {}));
            panic!("with a hook that is silent: {}", value)
        }
        14 => {
            std::panic::set_hook(Box::new(|_| {}));
            panic!("a literal and a silent hook")
        }
        15 => panic!("lines\nof a text: {}", "ü".repeat(300)),
        16 => unreachable!("state {}", value),
        17 => todo!(),
        18 => {
            let text: Option<usize> = std::env::var("NO_SUCH_VARIABLE_HERE").ok().map(|t| t.len());
            text.expect("a variable")
        }
        _ => value,
    }
}

#[no_mangle]
pub extern "C" fn die(way: i32, value: usize) -> usize {
    middle(way, value) + 1
}

#[no_mangle]
pub extern "C" fn die_in_thread(way: i32, value: usize) -> usize {
    std::thread::Builder::new().name("rusty".into()).spawn(move || die(way, value)).unwrap().join().unwrap_or(7)
}
