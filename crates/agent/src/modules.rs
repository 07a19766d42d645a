//! Kernel modules that the plan brings, loaded into the guest before anything is set up.
//!
//! The engine has put them below the run's directory. Only the guest loads: a host's kernel is not ours.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Result, RunError, Stage};
use crate::sys;

const DIR: &str = "modules";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the engine acts on path and sha256
struct Module {
    name: String,
    path: String,
    sha256: String,
    parameters: String,
}

/// Loads every module of `machine`, in order.
pub fn load(run_dir: &Path, machine: &Value) -> Result<()> {
    let Some(value) = machine.get("modules") else {
        return Ok(());
    };
    let modules: Vec<Module> = serde_json::from_value(value.clone())
        .map_err(|e| RunError::internal(format!("modules of the plan: {e}")))?;
    for module in &modules {
        let path = run_dir.join(DIR).join(format!("{}.ko", module.name));
        finit_module(&path, &module.parameters).map_err(|e| {
            let why = match e.raw_os_error() {
                Some(libc::ENOEXEC) => "it was not built for this kernel (kernel/README.md tells how)".into(),
                Some(libc::ENOENT) => "it needs a symbol that this kernel does not have".into(),
                _ => e.to_string(),
            };
            RunError::new(Stage::Setup, format!("loading the module {} failed: {why}", module.name))
                .command(format!("insmod {}.ko {}", module.name, module.parameters))
        })?;
    }
    Ok(())
}

fn finit_module(path: &Path, parameters: &str) -> std::io::Result<()> {
    let file = File::open(path)?;
    let parameters = CString::new(parameters)?;
    // SAFETY: an open file and a terminated string; the kernel copies both.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0) };
    sys::cvt(done as libc::c_int).map(drop)
}
